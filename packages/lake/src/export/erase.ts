/**
 * Applies redactions to exported files whose rows have been pruned from Postgres: reads each file and rewrites it without the redacted
 * contents, as an export would if the rows still existed.
 */
import type { ReadRedactions, ReadTable, Redactable } from 'ledger-indexer/read';
import type { LakeFile } from '../manifest/entries.ts';
import type { Codec } from '../parquet/codec.ts';
import type { LakeColumn, LakeValues } from '../parquet/lake-column.ts';
import { ParquetFile } from '../parquet/parquet-file.ts';
import { storedRows } from '../parquet/parquet-rows.ts';
import type { LakeStorage, WrittenFile } from '../storage/lake-storage.ts';

type StoredFile = LakeFile & { readonly path: string };

export class Eraser {
  readonly #folder: LakeStorage;
  readonly #codec: Codec;
  readonly #redactions: ReadRedactions;

  constructor(folder: LakeStorage, codec: Codec, redactions: ReadRedactions) {
    this.#folder = folder;
    this.#codec = codec;
    this.#redactions = redactions;
  }

  /**
   * Writes a file again without its redacted contents; undefined if it has none. Ids are read first, because most files
   * contain no redacted ids.
   * @param updates the file with the updates of the range, whose ids identify the redacted exercise
   * @param name path of the new file, relative to the folder of the lake
   */
  async withoutContents(
    file: LakeFile,
    source: ReadTable,
    updates: LakeFile | undefined,
    name: string,
  ): Promise<WrittenFile | undefined> {
    const { redacted: redactable } = source;
    if (redactable === undefined || !isStored(file)) return undefined;
    const updateIds = redactable.rows === 'exercises' ? await this.#updateIds(updates) : new Map<number, string>();
    const redactionsOf = (columns: readonly LakeColumn[], values: readonly LakeValues[], rows: number) =>
      redactionsIn(new Rows(source, redactable, columns, values, updateIds), rows, this.#redactions);
    if (!(await this.#names(file, source, redactable, redactionsOf))) return undefined;
    return await this.#write(file, source, redactable, redactionsOf, name);
  }

  async #names(file: StoredFile, source: ReadTable, redactable: Redactable, find: RowFinder): Promise<boolean> {
    const columnNames = new Set([...source.order, redactable.contractId, redactable.redactionId]);
    const columns = source.columns.filter((column) => columnNames.has(column.name));
    for await (const { values, rows } of storedRows(this.#folder, file, columns)) {
      if (find(columns, values, rows).size > 0) return true;
    }
    return false;
  }

  async #write(
    file: StoredFile,
    source: ReadTable,
    { contents, redactionId }: Redactable,
    find: RowFinder,
    name: string,
  ): Promise<WrittenFile | undefined> {
    const unfinished = await this.#folder.begin();
    let changedCount = 0;
    try {
      const parquet = new ParquetFile(unfinished, source, this.#codec);
      for await (const { values, rows } of storedRows(this.#folder, file, source.columns)) {
        const emptiedColumns = source.columns.flatMap((column, index) =>
          contents.includes(column.name) ? [values[index] ?? []] : [],
        );
        const redactionIds = values[source.columns.findIndex((column) => column.name === redactionId)];
        for (const [row, redaction] of find(source.columns, values, rows)) {
          if (emptiedColumns.some((column) => column[row] !== null) || redactionIds !== undefined) changedCount += 1;
          for (const column of emptiedColumns) column[row] = null;
          if (redactionIds !== undefined) redactionIds[row] = redaction;
        }
        await parquet.add(values, rows);
      }
      if (changedCount > 0) {
        await parquet.finish();
        return await unfinished.finish(name);
      }
    } catch (error) {
      await unfinished.discard();
      throw error;
    }
    await unfinished.discard();
    return undefined;
  }

  /** Update ids by offset. They fit into memory, because few exercises are redacted and few ranges contain them. */
  async #updateIds(file: LakeFile | undefined): Promise<ReadonlyMap<number, string>> {
    const ids = new Map<number, string>();
    if (file === undefined || !isStored(file)) return ids;
    const offsets = this.#redactions.offsetsWithin(file.from, file.to);
    if (offsets.size === 0) return ids;
    for await (const { values, rows } of storedRows(this.#folder, file, idsOfUpdates)) {
      for (let row = 0; row < rows; row += 1) {
        const offset = Number(values[0]?.[row]);
        if (offsets.has(offset)) ids.set(offset, textOf(values[1]?.[row]));
      }
    }
    return ids;
  }
}

const idsOfUpdates: readonly LakeColumn[] = [
  { name: 'offset', type: 'int64' },
  { name: 'update_id', type: 'text' },
];

/** Returns the redactions, by row index, that are not marked in the row yet. */
type RowFinder = (
  columns: readonly LakeColumn[],
  values: readonly LakeValues[],
  rows: number,
) => ReadonlyMap<number, string>;

/** Rows of one row group, with the columns that redactions need. */
class Rows {
  readonly isExercise: boolean;
  readonly #updateIds: ReadonlyMap<number, string>;
  readonly #column: (name: string | undefined) => LakeValues | undefined;
  readonly #redactable: Redactable;
  readonly #source: ReadTable;

  constructor(
    source: ReadTable,
    redactable: Redactable,
    columns: readonly LakeColumn[],
    values: readonly LakeValues[],
    updateIds: ReadonlyMap<number, string>,
  ) {
    this.isExercise = redactable.rows === 'exercises';
    this.#source = source;
    this.#redactable = redactable;
    this.#updateIds = updateIds;
    this.#column = (name) => values[columns.findIndex((column) => column.name === name)];
  }

  /** Yields each row with its row index. Rows that already name a redaction are omitted. */
  *open(
    rows: number,
  ): Generator<{ row: number; contractId: string; offset: number; nodeId: number; updateId: string | null }> {
    const redactionIds = this.#column(this.#redactable.redactionId);
    const [contractIds, offsets, nodes] = [this.#redactable.contractId, ...this.#source.order].map(this.#column);
    for (let row = 0; row < rows; row += 1) {
      if ((redactionIds?.[row] ?? null) !== null) continue;
      const offset = Number(offsets?.[row]);
      const updateId = this.#updateIds.get(offset) ?? null;
      yield { row, contractId: textOf(contractIds?.[row]), offset, nodeId: Number(nodes?.[row]), updateId };
    }
  }
}

function redactionsIn(group: Rows, rows: number, redactions: ReadRedactions): ReadonlyMap<number, string> {
  const foundValues = new Map<number, string>();
  for (const { row, contractId, offset, nodeId, updateId } of group.open(rows)) {
    const redaction = group.isExercise
      ? redactions.ofExercise({ offset, updateId }, { nodeId, contractId })
      : redactions.ofContract(contractId);
    if (redaction !== undefined) foundValues.set(row, redaction);
  }
  return foundValues;
}

function isStored(file: LakeFile): file is StoredFile {
  return file.path !== null;
}

function textOf(value: LakeValues[number] | undefined): string {
  return value instanceof Uint8Array ? Buffer.from(value).toString() : String(value);
}
