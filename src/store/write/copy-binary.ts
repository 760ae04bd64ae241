/**
 * Rows in the binary format of COPY: Postgres takes numbers, times and arrays as they are instead of parsing text, and
 * nothing needs escaping. One buffer per table, used again for every batch, that holds the messages ready for the wire.
 * Source: Postgres documentation, COPY, "Binary Format", and "Message Formats" for CopyData.
 */
import {
  type ColumnType,
  type ColumnValue,
  type Row,
  type RowSink,
  type TableName,
  tables,
} from '../../model/tables.ts';
import { postgresMicroseconds } from '../../model/binary-timestamp.ts';
import { dataRefused } from '../connection/store-error.ts';

/** Signature, no flags, no header extension. */
const head = Buffer.from('PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0', 'latin1');
const copyData = 'd'.charCodeAt(0);
/** Postgres receives a message whole before it parses the first row of it. */
const messageBytes = 64 * 1024;
const jsonbVersion = 1;
const int4Limit = 2 ** 31;

/** The COPY stream of one table, row by row, as CopyData messages. */
class TableCopy {
  readonly #table: TableName;
  readonly #types: readonly ColumnType[];
  readonly #bytes = new ByteWriter();
  #messageAt = 0;
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
    this.#bytes.clear();
    this.#rows = 0;
    this.#beginMessage();
    this.#bytes.raw(head);
  }

  /** The messages with the end of the stream in them; nothing may be added after. */
  messages(): Buffer {
    this.#bytes.int16(-1);
    this.#endMessage();
    return this.#bytes.written();
  }

  append(row: Row): void {
    const types = this.#types;
    this.#bytes.int16(types.length);
    for (let column = 0; column < types.length; column += 1) this.#value(types[column], row[column] ?? null);
    this.#rows += 1;
    if (this.#bytes.length - this.#messageAt < messageBytes) return;
    this.#endMessage();
    this.#beginMessage();
  }

  #beginMessage(): void {
    this.#messageAt = this.#bytes.length;
    this.#bytes.byte(copyData);
    this.#bytes.int32(0);
  }

  #endMessage(): void {
    this.#bytes.int32At(this.#messageAt + 1, this.#bytes.length - this.#messageAt - 1);
  }

  #value(type: ColumnType | undefined, value: ColumnValue): void {
    const bytes = this.#bytes;
    if (value === null) bytes.int32(-1);
    else if (typeof value === 'string') {
      if (type === 'text' || type === 'json') bytes.text(value);
      else if (type === 'jsonb') bytes.text(value, jsonbVersion);
      else this.#timestamp(value);
    } else if (typeof value === 'object') bytes.texts(value);
    else if (typeof value === 'boolean') {
      bytes.int32(1);
      bytes.byte(value ? 1 : 0);
    } else if (type === 'int4') this.#int4(value);
    else this.#int8(value);
  }

  #int4(value: number | bigint): void {
    const number = Number(value);
    if (!(number >= -int4Limit && number < int4Limit)) throw dataRefused(this.#table, 'a number beyond 32 bits');
    this.#bytes.int32(4);
    this.#bytes.int32(number);
  }

  #int8(value: number | bigint): void {
    if (typeof value === 'bigint' && BigInt.asIntN(64, value) !== value) {
      throw dataRefused(this.#table, 'a number beyond 64 bits');
    }
    this.#bytes.int32(8);
    this.#bytes.int64(value);
  }

  #timestamp(value: string): void {
    const microseconds = postgresMicroseconds(value);
    if (microseconds === undefined) throw dataRefused(this.#table, 'a time that is not ISO-8601 in UTC');
    this.#int8(microseconds);
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

  /** Tables with rows, in no order that matters, as CopyData messages. */
  *filled(): Generator<{ readonly table: TableName; readonly rows: number; readonly messages: Buffer }> {
    for (const [table, copy] of this.#tables) {
      if (copy.rows > 0) yield { table, rows: copy.rows, messages: copy.messages() };
    }
  }

  clear(): void {
    for (const copy of this.#tables.values()) copy.clear();
  }
}

// Bytes as Postgres receives them: numbers big-endian, texts in UTF-8 behind their length. One buffer that grows and is
// used again.
// Source: Postgres documentation, "Message Data Types", and the receive functions of the types.

const initialBytes = 64 * 1024;
/** A buffer that one huge batch made larger than this is not kept. */
const keptBytes = 8 * 1024 * 1024;
const textOid = 25;
const word = 2 ** 32;

export class ByteWriter {
  #bytes: Buffer = Buffer.allocUnsafeSlow(initialBytes);
  #at = 0;

  /** Where the next byte goes. */
  get length(): number {
    return this.#at;
  }

  clear(): void {
    if (this.#bytes.length > keptBytes) this.#bytes = Buffer.allocUnsafeSlow(initialBytes);
    this.#at = 0;
  }

  /** What was written since `clear`, until the next `clear`. */
  written(): Buffer {
    return this.#bytes.subarray(0, this.#at);
  }

  raw(bytes: Buffer): void {
    this.#reserve(bytes.length);
    this.#at += bytes.copy(this.#bytes, this.#at);
  }

  byte(value: number): void {
    this.#reserve(1);
    this.#bytes[this.#at] = value;
    this.#at += 1;
  }

  int16(value: number): void {
    this.#reserve(2);
    const at = this.#at;
    this.#bytes[at] = value >> 8;
    this.#bytes[at + 1] = value;
    this.#at = at + 2;
  }

  /** The lower 32 bits. */
  int32(value: number): void {
    this.#reserve(4);
    const bytes = this.#bytes;
    const at = this.#at;
    bytes[at] = value >>> 24;
    bytes[at + 1] = value >>> 16;
    bytes[at + 2] = value >>> 8;
    bytes[at + 3] = value;
    this.#at = at + 4;
  }

  int64(value: number | bigint): void {
    if (typeof value === 'bigint') {
      this.#reserve(8);
      this.#bytes.writeBigInt64BE(value, this.#at);
      this.#at += 8;
      return;
    }
    const high = Math.floor(value / word);
    this.int32(high);
    this.int32(value - high * word);
  }

  /** Replaces the 32 bits at an earlier place. */
  int32At(at: number, value: number): void {
    this.#bytes.writeInt32BE(value, at);
  }

  /** A text behind its length in bytes; `prefix`, a byte, belongs to the length. */
  text(value: string, prefix?: number): void {
    this.#reserve(5 + value.length * 3);
    const start = this.#at + (prefix === undefined ? 4 : 5);
    const length = this.#bytes.write(value, start, 'utf8');
    this.int32(start - this.#at - 4 + length);
    if (prefix !== undefined) this.#bytes[this.#at] = prefix;
    this.#at = start + length;
  }

  /** A text[] behind its length: one dimension, no nulls, subscripts from 1; an empty array has no dimension. */
  texts(values: readonly string[]): void {
    const start = this.#at;
    this.int32(0);
    this.#texts(values);
    this.int32At(start, this.#at - start - 4);
  }

  /** A text[] on its own, as a parameter. */
  textArray(values: readonly string[]): Buffer {
    this.clear();
    this.#texts(values);
    return Buffer.from(this.written());
  }

  #texts(values: readonly string[]): void {
    this.int32(values.length === 0 ? 0 : 1);
    this.int32(0);
    this.int32(textOid);
    if (values.length === 0) return;
    this.int32(values.length);
    this.int32(1);
    for (const value of values) this.text(value);
  }

  #reserve(more: number): void {
    const needed = this.#at + more;
    if (needed <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, this.#bytes.length * 2));
    this.#bytes.copy(larger, 0, 0, this.#at);
    this.#bytes = larger;
  }
}
