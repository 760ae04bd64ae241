/**
 * Bytes as Postgres receives them: numbers big-endian, texts in UTF-8 behind their length. One buffer that grows and is
 * used again.
 * Source: Postgres documentation, "Message Data Types", and the receive functions of the types.
 */

const initialBytes = 64 * 1024;

/** A buffer that one huge batch made larger than this is not kept. */
const keptBytes = 8 * 1024 * 1024;

const textOid = 25;

const word = 2 ** 32;

/** Before what is kept as text because it is no id, base64 or trace as the ledger prints them. */
const textMark = 0xff;

/** Value of a hexadecimal digit by its code; 255 for all else, capitals included, which would not come back as they were. */
const digits = new Uint8Array(256).fill(255);
for (const digit of '0123456789abcdef') digits[digit.charCodeAt(0)] = Number.parseInt(digit, 16);

/** Where a text lies while its digits are read: bytes are read faster than the characters of a part of a frame. */
const characters = Buffer.allocUnsafeSlow(4096);

const traceParent = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;
/** What of an id function id_text can give back. */
const plainCharacters = /^[ -[\]-~]*$/;

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

  /**
   * An id behind its length: the bytes that its digits name, or what it is in ASCII behind a mark.
   * @returns false, and nothing is written, where it is neither
   */
  id(value: string): boolean {
    if (this.#hexadecimal(value)) return true;
    if (!plainCharacters.test(value)) return false;
    this.text(value, textMark);
    return true;
  }

  /** Base64 behind its length: the bytes, or the text behind a mark where the bytes would not give it back. */
  base64(value: string): void {
    const bytes = Buffer.from(value, 'base64');
    if (bytes[0] === textMark || bytes.toString('base64') !== value) {
      this.text(value, textMark);
      return;
    }
    this.int32(bytes.length);
    this.raw(bytes);
  }

  /** A W3C traceparent behind its length: its bytes, or any other text behind a mark. */
  trace(value: string): void {
    if (!traceParent.test(value) || !this.#hexadecimal(value.replaceAll('-', ''))) this.text(value, textMark);
  }

  /** False where it is not digits in pairs, or would look like a mark. */
  #hexadecimal(value: string): boolean {
    const length = value.length >> 1;
    if (length === 0 || length * 2 !== value.length || value.length * 3 > characters.length) return false;
    if (characters.write(value, 0, 'utf8') !== value.length) return false;
    this.#reserve(4 + length);
    const bytes = this.#bytes;
    let to = this.#at + 4;
    for (let at = 0; at < value.length; at += 2) {
      const high = digits[characters[at] ?? 0] ?? 255;
      const low = digits[characters[at + 1] ?? 0] ?? 255;
      if ((high | low) > 15) return false;
      bytes[to] = (high << 4) | low;
      to += 1;
    }
    if (bytes[this.#at + 4] === textMark) return false;
    this.int32(length);
    this.#at = to;
    return true;
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
