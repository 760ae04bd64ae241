/**
 * Encodes rows in the binary format of COPY: Postgres reads numbers, times and arrays directly instead of parsing text,
 * and nothing needs escaping. Each table has one buffer, reused for every batch, with messages that are ready to send.
 * Source: Postgres documentation, COPY, "Binary Format", and "Message Formats" for CopyData.
 */
import {
  type ColumnType,
  type ColumnTypes,
  type ColumnValue,
  type Row,
  type RowSink,
  type TableName,
  tables,
} from '../../model/tables.ts';
import { postgresMicroseconds } from '../../model/binary-timestamp.ts';
import { Utf8, type TextOrUtf8 } from '../../model/utf8.ts';
import { dataRefused } from '../connection/store-error.ts';
import { ByteWriter } from '../connection/byte-writer.ts';

/** Header: signature, no flags, no extension. */
const head = Buffer.from('PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0', 'latin1');
const copyData = 'd'.charCodeAt(0);
/** Size of a message. Postgres receives a complete message before it parses the first row in it. */
const messageBytes = 64 * 1024;
const jsonbVersion = 1;
const int2Limit = 2 ** 15;
const int4Limit = 2 ** 31;

/** The COPY stream of one table, row by row, as CopyData messages. */
class TableCopy {
  readonly #table: TableName;
  readonly #types: readonly ColumnType[];
  readonly #bytes = new ByteWriter();
  #messageAt = 0;
  #rows = 0;

  constructor(table: TableName, types: ColumnTypes) {
    this.#table = table;
    this.#types = Object.values(types[table]);
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

  /** The messages, including the end of the stream. No rows may be added afterwards. */
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
    else if (typeof value === 'string' || value instanceof Utf8) this.#text(type, value);
    else if (typeof value === 'object') bytes.texts(value);
    else if (typeof value === 'boolean') {
      bytes.int32(1);
      bytes.byte(value ? 1 : 0);
    } else if (type === 'int4') this.#int4(value);
    else if (type === 'int2') this.#int2(value);
    else this.#int8(value);
  }

  #text(type: ColumnType | undefined, value: TextOrUtf8): void {
    const bytes = this.#bytes;
    if (type === 'text' || type === 'json') bytes.text(value);
    else if (type === 'jsonb') bytes.text(value, jsonbVersion);
    else if (type === 'id') this.#id(value);
    else if (type === 'char') bytes.text(value);
    else if (type === 'base64') bytes.base64(value);
    else if (type === 'trace') bytes.trace(value);
    else this.#timestamp(value);
  }

  #id(value: TextOrUtf8): void {
    if (!this.#bytes.id(value))
      throw dataRefused(this.#table, 'an id with a backslash or a character that is not printable ASCII');
  }

  #int2(value: number | bigint): void {
    const number = Number(value);
    if (!(number >= -int2Limit && number < int2Limit)) throw dataRefused(this.#table, 'a number beyond 16 bits');
    this.#bytes.int32(2);
    this.#bytes.int16(number);
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

  #timestamp(value: TextOrUtf8): void {
    const microseconds = postgresMicroseconds(value);
    if (microseconds === undefined) throw dataRefused(this.#table, 'a time that is not ISO-8601 in UTC');
    this.#int8(microseconds);
  }
}

/** The rows of one batch, encoded as they are added: no row and no payload is kept as an object. Reusable. */
export class BinaryTables implements RowSink {
  readonly #tables = new Map<TableName, TableCopy>();
  readonly #types: ColumnTypes;

  /** @param types column types of the database that receives the rows */
  constructor(types: ColumnTypes = tables) {
    this.#types = types;
  }

  /**
   * @throws IndexerError STORE_DATA_REFUSED for a value that the type of its column cannot hold; discard this object
   * afterwards
   */
  push(table: TableName, row: Row): void {
    let copy = this.#tables.get(table);
    if (copy === undefined) this.#tables.set(table, (copy = new TableCopy(table, this.#types)));
    copy.append(row);
  }

  /** Tables that have rows, in any order, with their rows as CopyData messages. */
  *filled(): Generator<{ readonly table: TableName; readonly rows: number; readonly messages: Buffer }> {
    for (const [table, copy] of this.#tables) {
      if (copy.rows > 0) yield { table, rows: copy.rows, messages: copy.messages() };
    }
  }

  clear(): void {
    for (const copy of this.#tables.values()) copy.clear();
  }
}
