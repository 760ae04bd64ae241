/**
 * Writes bytes as Postgres receives them: numbers big-endian, texts in UTF-8 after their length. It reuses one buffer,
 * which grows as needed. Source: Postgres documentation, "Message Data Types", and the receive functions of the types.
 */
import { types } from 'pg';
import { stringOf, utf8Of, type TextOrUtf8, type Utf8 } from '../../model/utf8.ts';

const initialBytes = 64 * 1024;

/**
 * If several consecutive batches fill less than this share of the buffer, it is halved, so that one large batch does
 * not keep it large.
 */
const minUsedFraction = 1 / 4;
const maxUnusedTimes = 16;

/** Sent instead of a length if the value is null. */
const nullLength = -1;

const twoPow32 = 2 ** 32;

/** Prefix of a value stored as text because it is not an id, base64 or trace in the ledger's notation. */
const textMark = 0xff;

const digits = '0123456789abcdef';
/**
 * The byte that two hexadecimal digits encode, indexed by the character codes of the digits. It is -1 for all other
 * characters. Capital letters are excluded because the stored byte does not record the case.
 */
const pairs = new Int16Array(2 ** 16).fill(-1);
for (const highDigit of digits) {
  for (const lowDigit of digits)
    pairs[(highDigit.charCodeAt(0) << 8) | lowDigit.charCodeAt(0)] = Number.parseInt(highDigit + lowDigit, 16);
}

/** A range of hexadecimal digits in a text. */
interface HexRange {
  readonly start: number;
  readonly end: number;
}

const wholeRange: readonly HexRange[] = [{ start: 0, end: Infinity }];

/** Parts with digits in a traceparent: `00-<32 digits>-<16 digits>-00` */
const traceParentRanges: readonly HexRange[] = [
  { start: 0, end: 2 },
  { start: 3, end: 35 },
  { start: 36, end: 52 },
  { start: 53, end: 55 },
];
const dash = 0x2d;

function isTraceParent({ bytes, start, length }: Utf8): boolean {
  return length === 55 && bytes[start + 2] === dash && bytes[start + 35] === dash && bytes[start + 52] === dash;
}

/** Above this size in bytes, the copy function of the engine is faster than a loop. */
const manualCopyThreshold = 128;

/** Characters of an id that the function id_text can restore. */
export const plainCharacterPattern = /^[ -[\]-~]*$/;

export class ByteWriter {
  #bytes: Buffer = Buffer.allocUnsafeSlow(initialBytes);
  #at = 0;
  /** Number of consecutive batches that used little of the buffer. */
  #unused = 0;

  /** Number of bytes written so far. */
  get length(): number {
    return this.#at;
  }

  clear(): void {
    const size = this.#bytes.length;
    this.#unused = size > initialBytes && this.#at < size * minUsedFraction ? this.#unused + 1 : 0;
    if (this.#unused === maxUnusedTimes) {
      this.#bytes = Buffer.allocUnsafeSlow(size / 2);
      this.#unused = 0;
    }
    this.#at = 0;
  }

  /** Bytes written since `clear`; valid until the next `clear`. */
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
    const position = this.#at;
    this.#bytes[position] = value >> 8;
    this.#bytes[position + 1] = value;
    this.#at = position + 2;
  }

  /** Writes the lower 32 bits of a number. */
  int32(value: number): void {
    this.#reserve(4);
    const bytes = this.#bytes;
    const lengthPosition = this.#at;
    bytes[lengthPosition] = value >>> 24;
    bytes[lengthPosition + 1] = value >>> 16;
    bytes[lengthPosition + 2] = value >>> 8;
    bytes[lengthPosition + 3] = value;
    this.#at = lengthPosition + 4;
  }

  int64(value: number | bigint): void {
    if (typeof value === 'bigint') {
      this.#reserve(8);
      this.#bytes.writeBigInt64BE(value, this.#at);
      this.#at += 8;
      return;
    }
    const highWord = Math.floor(value / twoPow32);
    this.int32(highWord);
    this.int32(value - highWord * twoPow32);
  }

  /** Overwrites 32 bits that were written earlier. */
  int32At(at: number, value: number): void {
    this.#bytes.writeInt32BE(value, at);
  }

  /** Writes the length in bytes, then the text. The length includes `prefix`, an optional first byte. */
  text(value: TextOrUtf8, prefix?: number): void {
    this.#reserve(5 + value.length * 3);
    const start = this.#at + (prefix === undefined ? 4 : 5);
    const length = typeof value === 'string' ? this.#bytes.write(value, start, 'utf8') : this.#copy(value, start);
    this.int32(start - this.#at - 4 + length);
    if (prefix !== undefined) this.#bytes[this.#at] = prefix;
    this.#at = start + length;
  }

  /**
   * Writes the length, then the bytes that the digits of the id encode, or a mark and the id as ASCII text.
   * @returns false, without writing anything, if the id is neither hexadecimal nor such a text
   */
  id(value: TextOrUtf8): boolean {
    if (this.#hexadecimal(utf8Of(value), wholeRange)) return true;
    if (!plainCharacterPattern.test(stringOf(value))) return false;
    this.text(value, textMark);
    return true;
  }

  /** Writes the length, then the decoded bytes, or a mark and the text if the bytes could not restore it. */
  base64(value: TextOrUtf8): void {
    const text = stringOf(value);
    const bytes = Buffer.from(text, 'base64');
    if (bytes[0] === textMark || bytes.toString('base64') !== text) {
      this.text(value, textMark);
      return;
    }
    this.int32(bytes.length);
    this.raw(bytes);
  }

  /** Writes the length, then the bytes of a W3C traceparent, or a mark and any other text. */
  trace(value: TextOrUtf8): void {
    const text = utf8Of(value);
    if (!isTraceParent(text) || !this.#hexadecimal(text, traceParentRanges)) this.text(value, textMark);
  }

  #copy({ bytes, start, end }: Utf8, to: number): number {
    if (end - start > manualCopyThreshold) return bytes.copy(this.#bytes, to, start, end);
    const target = this.#bytes;
    for (let byteIndex = start; byteIndex < end; byteIndex += 1) target[to + byteIndex - start] = bytes[byteIndex] ?? 0;
    return end - start;
  }

  /**
   * Writes the bytes encoded by the hexadecimal digits in these parts of a text. Returns false if the parts are not
   * pairs of digits, or if the first byte would be mistaken for a mark.
   */
  #hexadecimal({ bytes, start, end }: Utf8, parts: readonly HexRange[]): boolean {
    this.#reserve(4 + ((end - start) >> 1));
    const target = this.#bytes;
    let to = this.#at + 4;
    for (const hexRange of parts) {
      const last = Math.min(start + hexRange.end, end);
      if ((last - start - hexRange.start) % 2 === 1) return false;
      for (let byteIndex = start + hexRange.start; byteIndex < last; byteIndex += 2) {
        const value = pairs[((bytes[byteIndex] ?? 0) << 8) | (bytes[byteIndex + 1] ?? 0)] ?? -1;
        if (value < 0) return false;
        target[to] = value;
        to += 1;
      }
    }
    const length = to - this.#at - 4;
    if (length === 0 || target[this.#at + 4] === textMark) return false;
    this.int32(length);
    this.#at = to;
    return true;
  }

  /** Writes the length, then a text[]. */
  texts(values: readonly string[]): void {
    const start = this.#at;
    this.int32(0);
    this.array(types.builtins.TEXT, values, (value) => {
      this.text(value);
    });
    this.int32At(start, this.#at - start - 4);
  }

  /**
   * Writes an array without its length: one dimension with subscripts from 1, or no dimension if it is empty.
   * @param oid type of the elements
   * @param write writes an element and its length; nulls are written by this method
   */
  array<T>(oid: number, values: Iterable<T | null>, write: (value: T) => void): void {
    const start = this.#at;
    this.int32(0);
    // The flag for nulls is always 0. The server checks the elements and ignores the flag.
    this.int32(0);
    this.int32(oid);
    const countPosition = this.#at;
    this.int32(0);
    this.int32(1);
    let count = 0;
    for (const value of values) {
      if (value === null) this.int32(nullLength);
      else write(value);
      count += 1;
    }
    if (count === 0) {
      this.#at = countPosition;
      return;
    }
    this.int32At(start, 1);
    this.int32At(countPosition, count);
  }

  /** Writes a name that ends with a zero byte. */
  name(value: string): void {
    this.#reserve(value.length * 3 + 1);
    this.#at += this.#bytes.write(value, this.#at, 'utf8');
    this.byte(0);
  }

  #reserve(byteCount: number): void {
    const neededBytes = this.#at + byteCount;
    if (neededBytes <= this.#bytes.length) return;
    const largerBuffer = Buffer.allocUnsafeSlow(Math.max(neededBytes, this.#bytes.length * 2));
    this.#bytes.copy(largerBuffer, 0, 0, this.#at);
    this.#bytes = largerBuffer;
  }
}
