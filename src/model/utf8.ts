/**
 * Texts that are not copied from the frame they came in. Most texts of an event differ in every event and are only
 * passed on to the database, which takes UTF-8 as well. So such a text remains in the frame until it is written.
 */

/** A UTF-8 text in a larger block of memory; valid until that memory is overwritten. */
export class Utf8 {
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;

  constructor(bytes: Buffer, start: number, end: number) {
    this.bytes = bytes;
    this.start = start;
    this.end = end;
  }

  get length(): number {
    return this.end - this.start;
  }

  toString(): string {
    return this.bytes.toString('utf8', this.start, this.end);
  }
}

/** A text, which may still be in its frame. */
export type TextOrUtf8 = string | Utf8;

/** The text as a string; bytes are copied. */
export function stringOf(text: TextOrUtf8): string {
  return typeof text === 'string' ? text : text.toString();
}

/** The text as bytes; a string is copied. */
export function utf8Of(text: TextOrUtf8): Utf8 {
  if (typeof text !== 'string') return text;
  const bytes = Buffer.from(text, 'utf8');
  return new Utf8(bytes, 0, bytes.length);
}
