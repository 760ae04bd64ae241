/**
 * Checkpoints of a Delta table: the state of its log up to a commit, as one Parquet file. A reader opens the checkpoint
 * and only the few commits after it. Source: Delta transaction log protocol, "Checkpoints", "Checkpoint Schema", "Last
 * Checkpoint File".
 */
import { parquetReadObjects, type SchemaElement } from 'hyparquet';
import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import type { LakeStorage } from '../storage/lake-storage.ts';

/** A file of a table, as described by the commit that added it. */
export interface LoggedFile {
  /** Path relative to the folder of the table, spelled as in the log. */
  readonly path: string;
  readonly size: number;
  /** Milliseconds since 1970. */
  readonly modificationTime: number;
  /** Statistics as JSON; absent in logs of other programs. */
  readonly stats?: string | undefined;
}

/** A removed file. Readers of older versions of the table may still read it. */
export interface RemovedFile {
  readonly path: string;
  /** Milliseconds since 1970. */
  readonly deletionTimestamp: number;
}

/** State of a table after a commit. */
export interface TableState {
  /** Version of that commit. */
  readonly version: number;
  readonly metaData: TableMetaData;
  readonly files: readonly LoggedFile[];
  readonly removed: readonly RemovedFile[];
}

export interface TableMetaData {
  readonly id: string;
  readonly name: string;
  readonly schemaString: string;
}

/** Versions that a reader and a writer of the table must support. */
export const protocol = { minReaderVersion: 1, minWriterVersion: 2 } as const;

/** Writes the checkpoint of a version, and then the file that names it. Existing files are replaced. */
export async function writeCheckpoint(folder: LakeStorage, table: string, state: TableState): Promise<void> {
  const rows = rowsOf(state);
  const bytes = parquetOf(rows);
  const file = await folder.begin();
  try {
    await file.write(bytes);
    await file.finish(nameOf(table, state.version));
  } catch (error) {
    await file.discard();
    throw error;
  }
  const last = {
    version: state.version,
    size: rows.length,
    sizeInBytes: bytes.byteLength,
    numOfAddFiles: state.files.length,
  };
  await folder.write(lastNameOf(table), `${JSON.stringify(last)}\n`);
}

/** Reads the newest checkpoint. Undefined if there is none or it cannot be read; all commits still exist then. */
export async function readCheckpoint(folder: LakeStorage, table: string): Promise<TableState | undefined> {
  const text = await folder.read(lastNameOf(table));
  if (text === undefined) return undefined;
  try {
    const { version, sizeInBytes: byteLength } = JSON.parse(text) as { version: number; sizeInBytes: number };
    const name = nameOf(table, version);
    const { buffer } = await folder.readPart(name, 0, byteLength);
    return stateOf(version, (await parquetReadObjects({ file: buffer })) as readonly StoredRow[]);
  } catch {
    return undefined;
  }
}

function nameOf(table: string, version: number): string {
  return `${table}/_delta_log/${String(version).padStart(20, '0')}.checkpoint.parquet`;
}

function lastNameOf(table: string): string {
  return `${table}/_delta_log/_last_checkpoint`;
}

/** A row has one action; its other columns are null. */
type Row = Partial<Record<(typeof actions)[number], object>>;
const actions = ['txn', 'add', 'remove', 'metaData', 'protocol'] as const;

function rowsOf({ metaData, files, removed }: TableState): readonly Row[] {
  const addFields = { format: { provider: 'parquet', options: {} }, partitionColumns: [], configuration: {} };
  return [
    { protocol },
    { metaData: { ...metaData, ...addFields } },
    ...files.map(({ size, modificationTime, ...file }) => ({
      add: {
        ...file,
        partitionValues: {},
        size: BigInt(size),
        modificationTime: BigInt(modificationTime),
        dataChange: false,
      },
    })),
    ...removed.map(({ path, deletionTimestamp }) => ({
      remove: { path, deletionTimestamp: BigInt(deletionTimestamp), dataChange: false },
    })),
  ];
}

function parquetOf(rows: readonly Row[]): Uint8Array {
  const writer = new ByteWriter();
  // Compressed with Snappy, as usual for checkpoints, so that every reader supports it.
  const parquet = new ParquetWriter({ writer, schema, codec: 'SNAPPY', createdBy: 'ledger-indexer' });
  const columnData = actions.map((name) => ({ name, data: rows.map((row) => row[name] ?? null) }));
  void parquet.write({ columnData, rowGroupSize: rows.length });
  void parquet.finish();
  return writer.getBytes();
}

interface StoredRow {
  readonly add?: { path: string; size: bigint; modificationTime: bigint; stats?: string | null } | null;
  readonly remove?: { path: string; deletionTimestamp: bigint } | null;
  readonly metaData?: TableMetaData | null;
}

function stateOf(version: number, rows: readonly StoredRow[]): TableState | undefined {
  const metaRow = rows.find(({ metaData }) => isPresent(metaData))?.metaData;
  if (!isPresent(metaRow)) return undefined;
  const { id, name, schemaString } = metaRow;
  return {
    version,
    metaData: { id, name, schemaString },
    files: rows.flatMap(({ add }) =>
      isPresent(add)
        ? [
            {
              path: add.path,
              size: Number(add.size),
              modificationTime: Number(add.modificationTime),
              stats: add.stats ?? undefined,
            },
          ]
        : [],
    ),
    removed: rows.flatMap(({ remove }) =>
      isPresent(remove) ? [{ path: remove.path, deletionTimestamp: Number(remove.deletionTimestamp) }] : [],
    ),
  };
}

function isPresent<T>(value: T | null | undefined): value is T {
  return value !== null && value !== undefined;
}

const optional = { repetition_type: 'OPTIONAL' } as const;
const utf8 = { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } } as const;
const text = (name: string): SchemaElement[] => [{ name, ...optional, ...utf8 }];
const int64 = (name: string): SchemaElement[] => [{ name, ...optional, type: 'INT64' }];
const int32 = (name: string): SchemaElement[] => [{ name, ...optional, type: 'INT32' }];
const booleanColumn = (name: string): SchemaElement[] => [{ name, ...optional, type: 'BOOLEAN' }];

function struct(name: string, ...fields: readonly SchemaElement[][]): SchemaElement[] {
  return [{ name, ...optional, num_children: fields.length }, ...fields.flat()];
}

/** Type of a map from strings to strings. */
function map(name: string): SchemaElement[] {
  return [
    { name, ...optional, num_children: 1, converted_type: 'MAP', logical_type: { type: 'MAP' } },
    { name: 'key_value', repetition_type: 'REPEATED', num_children: 2 },
    { name: 'key', repetition_type: 'REQUIRED', ...utf8 },
    ...text('value'),
  ];
}

function texts(name: string): SchemaElement[] {
  return [
    { name, ...optional, num_children: 1, converted_type: 'LIST', logical_type: { type: 'LIST' } },
    { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
    ...text('element'),
  ];
}

const schema: SchemaElement[] = [
  { name: 'root', num_children: actions.length },
  ...struct('txn', text('appId'), int64('version'), int64('lastUpdated')),
  ...struct(
    'add',
    text('path'),
    map('partitionValues'),
    int64('size'),
    int64('modificationTime'),
    booleanColumn('dataChange'),
    text('stats'),
    map('tags'),
  ),
  ...struct('remove', text('path'), int64('deletionTimestamp'), booleanColumn('dataChange')),
  ...struct(
    'metaData',
    text('id'),
    text('name'),
    text('description'),
    struct('format', text('provider'), map('options')),
    text('schemaString'),
    texts('partitionColumns'),
    map('configuration'),
    int64('createdTime'),
  ),
  ...struct('protocol', int32('minReaderVersion'), int32('minWriterVersion')),
];
