/**
 * Delta Lake logs next to the files, so that engines open each folder as one table. They follow the manifest: a commit
 * names the files that were added and removed since the last commit. Statistics contain numbers of rows and offsets,
 * but no contents. Source: Delta transaction log protocol, "Delta Log Entries" and "Actions".
 */
import { createHash } from 'node:crypto';
import { LakeError } from '../errors/lake-error.ts';
import { type FileChange, isNamed, type LakeFile, type LakeTableEntry, type NamedFile } from '../manifest/entries.ts';
import type { Manifest } from '../manifest/manifest.ts';
import type { LakeColumn } from '../parquet/lake-column.ts';
import { deltaSchema } from '../parquet/parquet-schema.ts';
import type { LakeStorage } from '../storage/lake-storage.ts';
import { protocol, readCheckpoint, writeCheckpoint } from './delta-checkpoint.ts';
import { type Action, LoggedTable } from './logged-table.ts';

/** Content of a commit of a table. */
interface TableChange {
  readonly added: readonly NamedFile[];
  /** Paths of removed files, relative to the folder of the table. */
  readonly gone: readonly string[];
}

type Tables = Readonly<Record<string, LakeTableEntry>>;

/** The logs of all tables, each read from the storage once. */
export class DeltaLogs {
  readonly #folder: LakeStorage;
  readonly #tables = new Map<string, LoggedTable>();

  constructor(folder: LakeStorage) {
    this.#folder = folder;
  }

  /**
   * Compares the logs with all files of the manifest and commits the differences. They differ if a process was stopped
   * between writing the two.
   */
  async compare(manifest: Manifest): Promise<void> {
    const filesByTable = groupByTable(manifest.files());
    await forEach(manifest.head.tables, async (table, { columns }) => {
      const loggedTable = await this.#logged(table);
      const files = filesByTable.get(table) ?? [];
      const paths = new Set(files.map(pathOf));
      const removedPaths = [...loggedTable.paths()].filter((path) => !paths.has(path));
      await this.#commit(table, columns, {
        added: files.filter((file) => !loggedTable.has(pathOf(file))),
        gone: removedPaths,
      });
      await this.#checkpoint(table, loggedTable);
    });
  }

  /** Writes one commit for each table that a change of the manifest affects. */
  async follow(tables: Tables, { added, gone: removedFiles }: FileChange): Promise<void> {
    const [addedByTable, removedByTable] = [groupByTable(added), groupByTable(removedFiles)];
    await forEach(tables, async (table, { columns }) => {
      const change = { added: addedByTable.get(table) ?? [], gone: (removedByTable.get(table) ?? []).map(pathOf) };
      await this.#commit(table, columns, change);
    });
  }

  async #commit(
    table: string,
    columns: readonly LakeColumn[],
    { added, gone: removedFiles }: TableChange,
  ): Promise<void> {
    const loggedTable = await this.#logged(table);
    const schema = deltaSchema({ name: table, columns });
    const isNew = loggedTable.schema !== schema;
    if (added.length + removedFiles.length === 0 && !isNew) return;
    const now = Date.now();
    const version = loggedTable.nextVersion;
    const head = isNew ? headOf(table, schema, version) : [];
    const actions = [
      ...head,
      ...removedFiles.map((path) => removeOf(path, now)),
      ...added.map((file) => addOf(file, now)),
    ];
    const lines = actions.map((action) => `${JSON.stringify(action)}\n`).join('');
    if (!(await this.#folder.writeIfAbsent(nameOf(table, version), lines))) {
      throw new LakeError(`another program wrote version ${String(version)} of the Delta log of ${table}`, {
        code: 'EXPORT_BUSY',
        remedy: 'stop the other program that writes to this folder, then run export again: it resumes',
      });
    }
    loggedTable.commit(actions);
    await this.#checkpoint(table, loggedTable);
  }

  /** Writes a checkpoint after each hundredth commit. If the process stops earlier, the next comparison writes it. */
  async #checkpoint(table: string, loggedTable: LoggedTable): Promise<void> {
    const state = loggedTable.dueCheckpoint(Date.now());
    if (state === undefined) return;
    await writeCheckpoint(this.#folder, table, state);
    loggedTable.noteCheckpoint(state);
  }

  async #logged(table: string): Promise<LoggedTable> {
    const loggedTable = this.#tables.get(table) ?? (await this.#read(table));
    this.#tables.set(table, loggedTable);
    return loggedTable;
  }

  /** Reads the log from the newest checkpoint. */
  async #read(table: string): Promise<LoggedTable> {
    const loggedTable = new LoggedTable(await readCheckpoint(this.#folder, table));
    for (;;) {
      const text = await this.#folder.read(nameOf(table, loggedTable.nextVersion));
      if (text === undefined) return loggedTable;
      const lines = text.split('\n').filter((line) => line !== '');
      loggedTable.commit(lines.map((line) => JSON.parse(line) as Action));
    }
  }
}

/** Number of logs that are written concurrently, because a commit mostly waits for the disk or the bucket. */
const tablesPerBatch = 10;

/** Runs `work` for all tables, whose logs are independent. When it rejects, no work is running any more. */
async function forEach(tables: Tables, work: (table: string, entry: LakeTableEntry) => Promise<void>): Promise<void> {
  const entries = Object.entries(tables);
  for (let batchStart = 0; batchStart < entries.length; batchStart += tablesPerBatch) {
    const batch = entries.slice(batchStart, batchStart + tablesPerBatch);
    const outcomes = await Promise.allSettled(batch.map(([table, entry]) => work(table, entry)));
    const rejectedOutcome = outcomes.find((outcome) => outcome.status === 'rejected');
    if (rejectedOutcome !== undefined) throw rejectedOutcome.reason;
  }
}

function nameOf(table: string, version: number): string {
  return `${table}/_delta_log/${String(version).padStart(20, '0')}.json`;
}

function headOf(table: string, schemaString: string, version: number): readonly Action[] {
  const format = { provider: 'parquet', options: {} };
  const metaData = { id: idOf(table), name: table, format, schemaString, partitionColumns: [], configuration: {} };
  return version === 0 ? [{ protocol }, { metaData }] : [{ metaData }];
}

/** A stable id for each table. */
function idOf(table: string): string {
  const digits = createHash('sha256').update(`ledger-indexer lake ${table}`).digest('hex');
  return [
    digits.slice(0, 8),
    digits.slice(8, 12),
    digits.slice(12, 16),
    digits.slice(16, 20),
    digits.slice(20, 32),
  ].join('-');
}

function addOf(file: NamedFile, modificationTime: number): Action {
  const { rows, bytes } = file;
  const stats = JSON.stringify({ numRecords: rows });
  const add = { path: encodeURI(pathOf(file)), partitionValues: {}, size: bytes, modificationTime };
  const addAction = { ...add, dataChange: true, stats };
  return { add: addAction };
}

function groupByTable(files: Iterable<LakeFile>): ReadonlyMap<string, readonly NamedFile[]> {
  const filesByTable = new Map<string, NamedFile[]>();
  for (const file of files) {
    if (!isNamed(file)) continue;
    const list = filesByTable.get(file.table);
    if (list === undefined) filesByTable.set(file.table, [file]);
    else list.push(file);
  }
  return filesByTable;
}

/** Path of a file relative to the folder of its table. */
function pathOf({ table, path }: NamedFile): string {
  return path.slice(table.length + 1);
}

function removeOf(path: string, deletionTimestamp: number): Action {
  const remove = { path: encodeURI(path), deletionTimestamp, dataChange: true };
  return { remove };
}
