/**
 * A log of Delta Lake beside the files, so that engines open each folder as one table. It follows the manifest: a commit says
 * which files came and which went since the last one. Statistics hold numbers of rows and offsets, no contents.
 * Source: Delta transaction log protocol, "Delta Log Entries" and "Actions".
 */
import { createHash } from 'node:crypto';
import { LakeError } from '../errors/lake-error.ts';
import type { LakeFile, Manifest } from '../manifest/manifest.ts';
import type { LakeColumn } from '../parquet/lake-column.ts';
import { deltaSchema } from '../parquet/parquet-schema.ts';
import type { LakeStorage } from '../storage/lake-storage.ts';

interface LoggedTable {
  /** Of the next commit. */
  readonly version: number;
  /** Paths within the folder of the table. */
  readonly files: ReadonlySet<string>;
  readonly schema: string | undefined;
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

  /** One commit for each table whose log is not as the manifest is. */
  async follow(manifest: Manifest): Promise<void> {
    for (const [table, { columns }] of Object.entries(manifest.tables)) {
      await this.#commit(table, columns, manifest);
    }
  }

  async #commit(table: string, columns: readonly LakeColumn[], manifest: Manifest): Promise<void> {
    const logged = this.#tables.get(table) ?? (await this.#read(table));
    const wanted = new Map<string, LakeFile>();
    for (const file of manifest.files) {
      if (file.table === table && file.path !== null) wanted.set(file.path.slice(table.length + 1), file);
    }
    const schema = deltaSchema({ name: table, columns });
    const now = Date.now();
    const added = [...wanted].filter(([path]) => !logged.files.has(path)).map(([path, file]) => addOf(path, file, now));
    const gone = [...logged.files].filter((path) => !wanted.has(path)).map((path) => removeOf(path, now));
    const isNew = logged.schema !== schema;
    if (added.length + gone.length === 0 && !isNew) return void this.#tables.set(table, logged);
    const head = isNew ? headOf(table, schema, logged.version) : [];
    const lines = [...head, ...gone, ...added].map((action) => `${JSON.stringify(action)}\n`).join('');
    if (!(await this.#folder.writeIfAbsent(nameOf(table, logged.version), lines))) {
      throw new LakeError(`another program wrote version ${String(logged.version)} of the Delta log of ${table}`, {
        code: 'LAKE_BUSY',
        remedy: 'stop the other program that writes here, then run export again: it resumes',
      });
    }
    this.#tables.set(table, { version: logged.version + 1, files: new Set(wanted.keys()), schema });
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

function addOf(path: string, { rows, bytes }: LakeFile, modificationTime: number): object {
  const stats = JSON.stringify({ numRecords: rows });
  return {
    add: { path: encodeURI(path), partitionValues: {}, size: bytes, modificationTime, dataChange: true, stats },
  };
}

function removeOf(path: string, deletionTimestamp: number): object {
  return { remove: { path: encodeURI(path), deletionTimestamp, dataChange: true } };
}
