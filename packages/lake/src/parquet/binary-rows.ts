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
const fewBytes = 2_048;
const nothing = Buffer.alloc(0);
const microsecondsTo2000 = 946_684_800_000_000n;
const daysTo2000 = 10_957;

/** Parses the chunks of one COPY in order. */
export class BinaryRowReader {
  readonly #decode: readonly Decode[];
  #rest: Buffer = nothing;
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
  *add(piece: Buffer, stopBytes: number): Generator<void> {
    let left = this.#inHeader ? this.#afterHeader(piece) : piece;
    // Only a row that is split across chunks is copied.
    while (this.#rest.length > 0 && left.length > 0) {
      const cut = this.#rest.length;
      const bytes = Buffer.concat([this.#rest, left.subarray(0, Math.max(cut, fewBytes))]);
      const end = this.#rowEnd(bytes, 0);
      this.#rest = end === undefined ? bytes : nothing;
      left = left.subarray((end ?? bytes.length) - cut);
      if (end === undefined) continue;
      this.#row(bytes, 0, end);
      if (this.#bytes >= stopBytes) yield;
    }
    let at = 0;
    for (let end = this.#rowEnd(left, at); end !== undefined; end = this.#rowEnd(left, at)) {
      this.#row(left, at, end);
      at = end;
      if (this.#bytes >= stopBytes) yield;
    }
    if (left.length > 0) this.#rest = left.subarray(at);
  }

  /** Skips the header. Keeps the chunk if it is too short to contain the header. */
  #afterHeader(piece: Buffer): Buffer {
    const bytes = Buffer.concat([this.#rest, piece]);
    this.#inHeader = bytes.length < headerBytes + 4;
    this.#rest = this.#inHeader ? bytes : nothing;
    return this.#inHeader ? nothing : bytes.subarray(headerBytes + 4 + bytes.readInt32BE(headerBytes));
  }

  /** End of the row that begins at `start`; undefined if the row is incomplete, and after the last row. */
  #rowEnd(bytes: Buffer, start: number): number | undefined {
    if (start + 2 > bytes.length) return undefined;
    const fields = bytes.readInt16BE(start);
    if (fields === endOfRows) return undefined;
    if (fields !== this.#decode.length) throw new TypeError(`a row has ${String(fields)} fields`);
    let at = start + 2;
    for (let field = 0; field < fields; field += 1) {
      if (at + 4 > bytes.length) return undefined;
      at += 4 + Math.max(0, bytes.readInt32BE(at));
    }
    return at <= bytes.length ? at : undefined;
  }

  #row(bytes: Buffer, start: number, end: number): void {
    let at = start + 2;
    for (const [field, decode] of this.#decode.entries()) {
      const length = bytes.readInt32BE(at);
      at += 4;
      const last = at + Math.max(0, length);
      this.#values[field]?.push(length < 0 ? null : decode(bytes, at, last));
      at = last;
    }
    this.#rows += 1;
    this.#bytes += end - start;
  }
}

const decoders: Readonly<Record<LakeColumn['type'], (column: LakeColumn) => Decode>> = {
  boolean: () => (bytes, at) => bytes[at] === 1,
  int32: () => (bytes, at) => bytes.readInt32BE(at),
  int64: () => (bytes, at) => bytes.readBigInt64BE(at),
  double: () => (bytes, at) => bytes.readDoubleBE(at),
  text: () => textDecoder(),
  timestamp: () => (bytes, at) => bytes.readBigInt64BE(at) + microsecondsTo2000,
  date: () => (bytes, at) => bytes.readInt32BE(at) + daysTo2000,
  texts: () => textsDecoder(),
  decimal:
    ({ name, scale = 0 }) =>
    (bytes, at) =>
      decimalAt(bytes, at, scale, name),
};

/** Maximum length of a cached text; longer texts rarely repeat. */
const longestKept = 256;
/**
 * Maximum number of cached texts per column. Repeated texts are the same string object, which makes dictionaries cheap.
 */
const mostKept = 1_024;

/** Decodes short texts to strings while most of them are in the cache. All other texts stay bytes. */
function textDecoder(): Decode {
  let kept = new Map<string, string>();
  let seen = 0;
  let fresh = 0;
  return (bytes, start, end) => {
    if (end - start > longestKept) return bytes.subarray(start, end);
    if (seen >= mostKept && fresh * 2 > seen) {
      kept.clear();
      return bytes.subarray(start, end);
    }
    const key = bytes.toString('latin1', start, end);
    seen += 1;
    const found = kept.get(key);
    if (found !== undefined) return found;
    fresh += 1;
    if (kept.size >= mostKept) kept = new Map();
    const text = bytes.toString('utf8', start, end);
    kept.set(key, text);
    return text;
  };
}

function textsDecoder(): Decode {
  let kept = new Map<string, readonly string[]>();
  return (bytes, start, end) => {
    const key = bytes.toString('latin1', start, end);
    const found = kept.get(key);
    if (found !== undefined) return found;
    if (kept.size >= mostKept) kept = new Map();
    const texts = textsAt(bytes, start);
    kept.set(key, texts);
    return texts;
  };
}

/** Decodes an array with one dimension, or an empty array, which has no dimension. */
function textsAt(bytes: Buffer, start: number): readonly string[] {
  const dimensions = bytes.readInt32BE(start);
  if (dimensions === 0) return [];
  const texts: string[] = [];
  let at = start + 20;
  for (let left = bytes.readInt32BE(start + 12); left > 0; left -= 1) {
    const length = bytes.readInt32BE(at);
    texts.push(bytes.toString('utf8', at + 4, at + 4 + length));
    at += 4 + length;
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
