/** One Parquet file, written as its rows arrive, so that memory contains one row group at a time. */
import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import type { ColumnSource } from 'hyparquet-writer';
import type { LakeColumn, LakeTable, LakeValues } from './lake-column.ts';
import type { Codec } from './codec.ts';
import type { UnfinishedFile } from '../storage/lake-storage.ts';
import { parquetSchema } from './parquet-schema.ts';

export class ParquetFile {
  readonly #file: UnfinishedFile;
  readonly #table: LakeTable;
  readonly #bytes = new ByteWriter(1024 * 1024);
  readonly #parquet: ParquetWriter;
  #rows = 0;

  constructor(file: UnfinishedFile, table: LakeTable, codec: Codec) {
    this.#file = file;
    this.#table = table;
    this.#parquet = new ParquetWriter({
      writer: this.#bytes,
      schema: parquetSchema(table.columns),
      codec: codec.name,
      compressors: { [codec.name]: codec.compress },
      createdBy: 'ledger-indexer',
    });
  }

  get rows(): number {
    return this.#rows;
  }

  /** Adds one row group: the values of each column, all with the same number of rows. */
  async add(values: readonly LakeValues[], rows: number): Promise<void> {
    if (rows === 0) return;
    const columnData = this.#table.columns.map((column, index) => sourceOf(column, values[index] ?? []));
    await this.#parquet.write({ columnData, rowGroupSize: rows });
    this.#rows += rows;
    await this.#flush();
  }

  /** Writes the footer, which readers read first. */
  async finish(): Promise<void> {
    await this.#parquet.finish();
    await this.#flush();
  }

  async #flush(): Promise<void> {
    await this.#file.write(this.#bytes.getBytes());
    this.#bytes.index = 0;
  }
}

const isRising: ReadonlySet<LakeColumn['type']> = new Set(['int64', 'timestamp']);

/**
 * Encoding of a column. Long values are not useful as bounds for a reader, and texts that are partly bytes have no
 * known order. Offsets and times mostly increase, so their differences are small.
 */
function sourceOf({ name, type }: LakeColumn, values: LakeValues): ColumnSource {
  const data = values as ColumnSource['data'];
  if (isRising.has(type)) return { name, data, encoding: 'DELTA_BINARY_PACKED' };
  if (type === 'texts') return { name, data, statistics: false };
  if (type !== 'text') return { name, data };
  return { name, data, statistics: values.every((value) => value === null || typeof value === 'string') };
}
