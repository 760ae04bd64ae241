/**
 * Converts rows of a binary COPY to columns of values. Source: Postgres documentation, "COPY", section "Binary Format";
 * the send functions of the types (int8send, timestamptz_send, array_send, numeric_send).
 */
import type { LakeColumn, LakeValues } from './lake-column.ts';

type Decode = (bytes: Buffer, start: number, end: number) => LakeValues[number];

/** Bytes of the signature and the flags. The length of the header extension follows them. */
const headerBytes = 15;
const endOfRows = -1;
/** Minimum number of bytes to copy for the end of a row that is split across chunks; most rows are shorter. */
const maxCachedBytes = 2_048;
const emptyBuffer = Buffer.alloc(0);
const microsecondsTo2000 = 946_684_800_000_000n;
const daysTo2000 = 10_957;

/** Parses the chunks of one COPY in order. */
export class BinaryRowReader {
  readonly #decode: readonly Decode[];
  #rest: Buffer = emptyBuffer;
  #inHeader = true;
  #values: LakeValues[];
  #rows = 0;
  #bytes = 0;

  constructor(columns: readonly LakeColumn[]) {
    this.#decode = columns.map((column) => decoders[column.type](column));
    this.#values = columns.map(() => []);
  }

  /** Number of parsed rows that have not been taken yet. */
  get rows(): number {
    return this.#rows;
  }

  /** Returns the values of each column, for all rows since the last call. Texts point into the chunks. */
  take(): readonly LakeValues[] {
    const values = this.#values;
    this.#values = values.map(() => []);
    this.#rows = 0;
    this.#bytes = 0;
    return values;
  }

  /**
   * Parses a chunk, and yields after each row at which the pending rows reach `stopBytes`. The position depends only on
   * the rows, not on the boundaries of chunks.
   * @throws TypeError for data that is not a COPY, which is a bug of this program
   */
  *add(chunk: Buffer, stopBytes: number): Generator<void> {
    let remainingBytes = this.#inHeader ? this.#afterHeader(chunk) : chunk;
    // Only a row that is split across chunks is copied.
    while (this.#rest.length > 0 && remainingBytes.length > 0) {
      const carriedBytes = this.#rest.length;
      const bytes = Buffer.concat([this.#rest, remainingBytes.subarray(0, Math.max(carriedBytes, maxCachedBytes))]);
      const end = this.#rowEnd(bytes, 0);
      this.#rest = end === undefined ? bytes : emptyBuffer;
      remainingBytes = remainingBytes.subarray((end ?? bytes.length) - carriedBytes);
      if (end === undefined) continue;
      this.#row(bytes, 0, end);
      if (this.#bytes >= stopBytes) yield;
    }
    let position = 0;
    for (
      let end = this.#rowEnd(remainingBytes, position);
      end !== undefined;
      end = this.#rowEnd(remainingBytes, position)
    ) {
      this.#row(remainingBytes, position, end);
      position = end;
      if (this.#bytes >= stopBytes) yield;
    }
    if (remainingBytes.length > 0) this.#rest = remainingBytes.subarray(position);
  }

  /** Skips the header. Keeps the chunk if it is too short to contain the header. */
  #afterHeader(chunk: Buffer): Buffer {
    const bytes = Buffer.concat([this.#rest, chunk]);
    this.#inHeader = bytes.length < headerBytes + 4;
    this.#rest = this.#inHeader ? bytes : emptyBuffer;
    return this.#inHeader ? emptyBuffer : bytes.subarray(headerBytes + 4 + bytes.readInt32BE(headerBytes));
  }

  /** End of the row that begins at `start`; undefined if the row is incomplete, and after the last row. */
  #rowEnd(bytes: Buffer, start: number): number | undefined {
    if (start + 2 > bytes.length) return undefined;
    const fields = bytes.readInt16BE(start);
    if (fields === endOfRows) return undefined;
    if (fields !== this.#decode.length) throw new TypeError(`a row has ${String(fields)} fields`);
    let position = start + 2;
    for (let field = 0; field < fields; field += 1) {
      if (position + 4 > bytes.length) return undefined;
      position += 4 + Math.max(0, bytes.readInt32BE(position));
    }
    return position <= bytes.length ? position : undefined;
  }

  #row(bytes: Buffer, start: number, end: number): void {
    let position = start + 2;
    for (const [field, decode] of this.#decode.entries()) {
      const length = bytes.readInt32BE(position);
      position += 4;
      const last = position + Math.max(0, length);
      this.#values[field]?.push(length < 0 ? null : decode(bytes, position, last));
      position = last;
    }
    this.#rows += 1;
    this.#bytes += end - start;
  }
}

const decoders: Readonly<Record<LakeColumn['type'], (column: LakeColumn) => Decode>> = {
  boolean: () => (bytes, position) => bytes[position] === 1,
  int32: () => (bytes, position) => bytes.readInt32BE(position),
  int64: () => (bytes, position) => bytes.readBigInt64BE(position),
  double: () => (bytes, position) => bytes.readDoubleBE(position),
  text: () => textDecoder(),
  timestamp: () => (bytes, position) => bytes.readBigInt64BE(position) + microsecondsTo2000,
  date: () => (bytes, position) => bytes.readInt32BE(position) + daysTo2000,
  texts: () => textsDecoder(),
  decimal:
    ({ name, scale = 0 }) =>
    (bytes, position) =>
      decimalAt(bytes, position, scale, name),
};

/** Maximum length of a cached text; longer texts rarely repeat. */
const maxCachedTextBytes = 256;
/**
 * Maximum number of cached texts per column. Repeated texts are the same string object, which makes dictionaries cheap.
 */
const maxCachedValues = 1_024;

/** Decodes short texts to strings while most of them are in the cache. All other texts stay bytes. */
function textDecoder(): Decode {
  let cachedValues = new Map<string, string>();
  let seenCount = 0;
  let newBytes = 0;
  return (bytes, start, end) => {
    if (end - start > maxCachedTextBytes) return bytes.subarray(start, end);
    if (seenCount >= maxCachedValues && newBytes * 2 > seenCount) {
      cachedValues.clear();
      return bytes.subarray(start, end);
    }
    const key = bytes.toString('latin1', start, end);
    seenCount += 1;
    const cachedValue = cachedValues.get(key);
    if (cachedValue !== undefined) return cachedValue;
    newBytes += 1;
    if (cachedValues.size >= maxCachedValues) cachedValues = new Map();
    const text = bytes.toString('utf8', start, end);
    cachedValues.set(key, text);
    return text;
  };
}

function textsDecoder(): Decode {
  let cachedValues = new Map<string, readonly string[]>();
  return (bytes, start, end) => {
    const key = bytes.toString('latin1', start, end);
    const cachedValue = cachedValues.get(key);
    if (cachedValue !== undefined) return cachedValue;
    if (cachedValues.size >= maxCachedValues) cachedValues = new Map();
    const texts = textsAt(bytes, start);
    cachedValues.set(key, texts);
    return texts;
  };
}

/** Decodes an array with one dimension, or an empty array, which has no dimension. */
function textsAt(bytes: Buffer, start: number): readonly string[] {
  const dimensions = bytes.readInt32BE(start);
  if (dimensions === 0) return [];
  const texts: string[] = [];
  let position = start + 20;
  for (let remainingFields = bytes.readInt32BE(start + 12); remainingFields > 0; remainingFields -= 1) {
    const length = bytes.readInt32BE(position);
    texts.push(bytes.toString('utf8', position + 4, position + 4 + length));
    position += 4 + length;
  }
  return texts;
}

const negative = 0x4000;
const finite = new Set([0, negative]);

/**
 * Decodes a number to an integer in units of its last digit.
 * @throws RangeError for too many digits after the decimal point
 */
function decimalAt(bytes: Buffer, start: number, scale: number, column: string): bigint {
  const groups = bytes.readInt16BE(start);
  const weight = bytes.readInt16BE(start + 2);
  const sign = bytes.readUInt16BE(start + 4);
  if (!finite.has(sign)) throw new RangeError(`column ${column} has a number that is not finite`);
  let value = 0n;
  for (let group = 0; group < groups; group += 1)
    value = value * 10_000n + BigInt(bytes.readInt16BE(start + 8 + 2 * group));
  // The value is in units of 10000^(weight - groups + 1).
  const shift = 4 * (weight - groups + 1) + scale;
  if (shift >= 0) value *= 10n ** BigInt(shift);
  else {
    const unit = 10n ** BigInt(-shift);
    if (value % unit !== 0n)
      throw new RangeError(`column ${column} has more than ${String(scale)} digits after the decimal point`);
    value /= unit;
  }
  return sign === negative ? -value : value;
}
