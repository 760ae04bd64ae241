/**
 * Rows in the binary format of COPY: Postgres takes numbers, times and arrays as they are instead of parsing text, and
 * nothing needs escaping. One buffer per table, used again for every batch.
 * Source: Postgres documentation, COPY, "Binary Format", and the receive functions of the types.
 */
import { tables, type ColumnType, type ColumnValue, type Row, type RowSink, type TableName } from '../model/tables.ts';
import { postgresMicroseconds } from './binary-timestamp.ts';
import { dataRefused } from './store-error.ts';

/** Signature, no flags, no header extension. */
const head = Buffer.from('PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0', 'latin1');
const initialBytes = 64 * 1024;
/** A buffer that one huge batch made larger than this is not kept. */
const keptBytes = 8 * 1024 * 1024;
const textOid = 25;
const jsonbVersion = 1;
const int4Limit = 2 ** 31;
const word = 2 ** 32;

/** The COPY stream of one table, row by row. */
class TableCopy {
  readonly #table: TableName;
  readonly #types: readonly ColumnType[];
  #bytes = Buffer.allocUnsafeSlow(initialBytes);
  #at = 0;
  #rows = 0;

  constructor(table: TableName) {
    this.#table = table;
    this.#types = Object.values(tables[table]);
    this.clear();
  }

  get rows(): number {
    return this.#rows;
  }

  clear(): void {
    if (this.#bytes.length > keptBytes) this.#bytes = Buffer.allocUnsafeSlow(initialBytes);
    this.#at = head.copy(this.#bytes);
    this.#rows = 0;
  }

  /** The stream with its end; nothing may be added to it after. */
  stream(): Buffer {
    this.#reserve(2);
    this.#int16(-1);
    return this.#bytes.subarray(0, this.#at);
  }

  append(row: Row): void {
    const types = this.#types;
    this.#reserve(2 + types.length * 12);
    this.#int16(types.length);
    for (let column = 0; column < types.length; column += 1) this.#value(types[column], row[column] ?? null);
    this.#rows += 1;
  }

  #value(type: ColumnType | undefined, value: ColumnValue): void {
    if (value === null) {
      this.#reserve(4);
      this.#int32(-1);
    } else if (typeof value === 'string') {
      if (type === 'text') this.#text(value);
      else if (type === 'jsonb') this.#jsonb(value);
      else this.#timestamp(value);
    } else if (typeof value === 'object') this.#texts(value);
    else if (typeof value === 'boolean') {
      this.#reserve(5);
      this.#int32(1);
      this.#bytes[this.#at] = value ? 1 : 0;
      this.#at += 1;
    } else if (type === 'int4') this.#int4(value);
    else this.#int8(value);
  }

  #int4(value: number | bigint): void {
    const number = Number(value);
    if (!(number >= -int4Limit && number < int4Limit)) throw dataRefused(this.#table, 'a number beyond 32 bits');
    this.#reserve(8);
    this.#int32(4);
    this.#int32(number);
  }

  #int8(value: number | bigint): void {
    this.#reserve(12);
    this.#int32(8);
    if (typeof value === 'bigint') {
      this.#bytes.writeBigInt64BE(value, this.#at);
      this.#at += 8;
      return;
    }
    const high = Math.floor(value / word);
    this.#int32(high);
    this.#int32(value - high * word);
  }

  #timestamp(value: string): void {
    const microseconds = postgresMicroseconds(value);
    if (microseconds === undefined) throw dataRefused(this.#table, 'a time that is not ISO-8601 in UTC');
    this.#int8(microseconds);
  }

  #text(value: string): void {
    this.#reserve(4 + value.length * 3);
    const length = this.#bytes.write(value, this.#at + 4, 'utf8');
    this.#int32(length);
    this.#at += length;
  }

  #jsonb(value: string): void {
    this.#reserve(5 + value.length * 3);
    const length = this.#bytes.write(value, this.#at + 5, 'utf8');
    this.#int32(length + 1);
    this.#bytes[this.#at] = jsonbVersion;
    this.#at += 1 + length;
  }

  /** One dimension, no nulls, subscripts from 1; an empty array has no dimension. */
  #texts(values: readonly string[]): void {
    this.#reserve(24);
    const start = this.#at;
    this.#at += 4;
    this.#int32(values.length === 0 ? 0 : 1);
    this.#int32(0);
    this.#int32(textOid);
    if (values.length > 0) {
      this.#int32(values.length);
      this.#int32(1);
      for (const value of values) this.#text(value);
    }
    this.#bytes.writeInt32BE(this.#at - start - 4, start);
  }

  #int16(value: number): void {
    const at = this.#at;
    this.#bytes[at] = value >> 8;
    this.#bytes[at + 1] = value;
    this.#at = at + 2;
  }

  /** The lower 32 bits, big-endian. */
  #int32(value: number): void {
    const bytes = this.#bytes;
    const at = this.#at;
    bytes[at] = value >>> 24;
    bytes[at + 1] = value >>> 16;
    bytes[at + 2] = value >>> 8;
    bytes[at + 3] = value;
    this.#at = at + 4;
  }

  #reserve(more: number): void {
    const needed = this.#at + more;
    if (needed <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, this.#bytes.length * 2));
    this.#bytes.copy(larger, 0, 0, this.#at);
    this.#bytes = larger;
  }
}

/** The rows of one batch, encoded as they come: no row and no payload is kept as an object. Can be used again. */
export class BinaryRows implements RowSink {
  readonly #tables = new Map<TableName, TableCopy>();

  /** @throws IndexerError STORE_DATA_REFUSED for what the column's type cannot hold; then nothing of this is of use */
  push(table: TableName, row: Row): void {
    let copy = this.#tables.get(table);
    if (copy === undefined) this.#tables.set(table, (copy = new TableCopy(table)));
    copy.append(row);
  }

  /** Tables with rows, in no order that matters. */
  *filled(): Generator<{ readonly table: TableName; readonly rows: number; readonly stream: Buffer }> {
    for (const [table, copy] of this.#tables) {
      if (copy.rows > 0) yield { table, rows: copy.rows, stream: copy.stream() };
    }
  }

  clear(): void {
    for (const copy of this.#tables.values()) copy.clear();
  }
}
