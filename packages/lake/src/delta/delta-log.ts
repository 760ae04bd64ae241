/**
 * A log of Delta Lake beside the files, so that engines open each folder as one table. It follows the manifest: a commit says
 * which files came and which went since the last one. Statistics hold numbers of rows and offsets, no contents.
 * Source: Delta transaction log protocol, "Delta Log Entries" and "Actions".
 */
import { createHash } from 'node:crypto';
import { LakeError } from '../errors/lake-error.ts';
import { type FileChange, isNamed, type LakeFile, type LakeTableEntry, type NamedFile } from '../manifest/entries.ts';
import type { Manifest } from '../manifest/manifest.ts';
import type { LakeColumn } from '../parquet/lake-column.ts';
import { deltaSchema } from '../parquet/parquet-schema.ts';
import type { LakeStorage } from '../storage/lake-storage.ts';

interface LoggedTable {
  /** Of the next commit. */
  readonly version: number;
  /** Paths within the folder of the table. */
  readonly files: Set<string>;
  readonly schema: string | undefined;
}

/** What a commit says of a table. */
interface TableChange {
  readonly added: readonly NamedFile[];
  /** Paths within the folder of the table. */
  readonly gone: readonly string[];
}

interface Action {
  readonly add?: { readonly path: string };
  readonly remove?: { readonly path: string };
  readonly metaData?: { readonly schemaString: string };
}

/** What the logs say; they are read from the disk once. */
export class DeltaLogs {
  readonly #folder: LakeStorage;
  readonly #tables = new Map<string, LoggedTable>();

  constructor(folder: LakeStorage) {
    this.#folder = folder;
  }

  /** Compares the logs with all files of the manifest, and commits what differs: a process was stopped between the two. */
  async compare(manifest: Manifest): Promise<void> {
    const wanted = byTable(manifest.files());
    for (const [table, { columns }] of Object.entries(manifest.head.tables)) {
      const logged = await this.#logged(table);
      const files = wanted.get(table) ?? [];
      const paths = new Set(files.map(pathOf));
      const gone = [...logged.files].filter((path) => !paths.has(path));
      await this.#commit(table, columns, { added: files.filter((file) => !logged.files.has(pathOf(file))), gone });
    }
  }

  /** One commit for each table that a change of the manifest is about. */
  async follow(tables: Readonly<Record<string, LakeTableEntry>>, { added, gone }: FileChange): Promise<void> {
    const [addedTo, goneFrom] = [byTable(added), byTable(gone)];
    for (const [table, { columns }] of Object.entries(tables)) {
      const change = { added: addedTo.get(table) ?? [], gone: (goneFrom.get(table) ?? []).map(pathOf) };
      await this.#commit(table, columns, change);
    }
  }

  async #commit(table: string, columns: readonly LakeColumn[], { added, gone }: TableChange): Promise<void> {
    const logged = await this.#logged(table);
    const schema = deltaSchema({ name: table, columns });
    const isNew = logged.schema !== schema;
    if (added.length + gone.length === 0 && !isNew) return;
    const now = Date.now();
    const head = isNew ? headOf(table, schema, logged.version) : [];
    const actions = [...head, ...gone.map((path) => removeOf(path, now)), ...added.map((file) => addOf(file, now))];
    const lines = actions.map((action) => `${JSON.stringify(action)}\n`).join('');
    if (!(await this.#folder.writeIfAbsent(nameOf(table, logged.version), lines))) {
      throw new LakeError(`another program wrote version ${String(logged.version)} of the Delta log of ${table}`, {
        code: 'LAKE_BUSY',
        remedy: 'stop the other program that writes here, then run export again: it resumes',
      });
    }
    for (const path of gone) logged.files.delete(path);
    for (const file of added) logged.files.add(pathOf(file));
    this.#tables.set(table, { ...logged, version: logged.version + 1, schema });
  }

  async #logged(table: string): Promise<LoggedTable> {
    const logged = this.#tables.get(table) ?? (await this.#read(table));
    this.#tables.set(table, logged);
    return logged;
  }

  async #read(table: string): Promise<LoggedTable> {
    const files = new Set<string>();
    let schema: string | undefined;
    for (let version = 0; ; version += 1) {
      const text = await this.#folder.read(nameOf(table, version));
      if (text === undefined) return { version, files, schema };
      for (const line of text.split('\n').filter((each) => each !== '')) {
        const { add, remove, metaData } = JSON.parse(line) as Action;
        if (add !== undefined) files.add(decodeURIComponent(add.path));
        if (remove !== undefined) files.delete(decodeURIComponent(remove.path));
        schema = metaData?.schemaString ?? schema;
      }
    }
  }
}

function nameOf(table: string, version: number): string {
  return `${table}/_delta_log/${String(version).padStart(20, '0')}.json`;
}

function headOf(table: string, schemaString: string, version: number): readonly object[] {
  const protocol = { protocol: { minReaderVersion: 1, minWriterVersion: 2 } };
  const format = { provider: 'parquet', options: {} };
  const metaData = { id: idOf(table), name: table, format, schemaString, partitionColumns: [], configuration: {} };
  return version === 0 ? [protocol, { metaData }] : [{ metaData }];
}

/** The same for the same table. */
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

function addOf(file: NamedFile, modificationTime: number): object {
  const { rows, bytes } = file;
  const stats = JSON.stringify({ numRecords: rows });
  return {
    add: { path: encodeURI(pathOf(file)), partitionValues: {}, size: bytes, modificationTime, dataChange: true, stats },
  };
}

function byTable(files: Iterable<LakeFile>): ReadonlyMap<string, readonly NamedFile[]> {
  const found = new Map<string, NamedFile[]>();
  for (const file of files) {
    if (!isNamed(file)) continue;
    const list = found.get(file.table);
    if (list === undefined) found.set(file.table, [file]);
    else list.push(file);
  }
  return found;
}

/** From the folder of its table. */
function pathOf({ table, path }: NamedFile): string {
  return path.slice(table.length + 1);
}

function removeOf(path: string, deletionTimestamp: number): object {
  return { remove: { path: encodeURI(path), deletionTimestamp, dataChange: true } };
}
