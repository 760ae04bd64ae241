/**
 * Texts that are not copied out of the frame they came in. Most texts of an event differ in every event and only pass
 * through to the database, which takes UTF-8 as well: so such a text stays in place until it is written.
 */

/** UTF-8 in a larger piece of memory; valid until that memory is overwritten. */
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

/** A text, perhaps still within its frame. */
export type Text = string | Utf8;

/** A copy that is a string. */
export function stringOf(text: Text): string {
  return typeof text === 'string' ? text : text.toString();
}

/** The same as bytes: a string is copied. */
export function utf8Of(text: Text): Utf8 {
  if (typeof text !== 'string') return text;
  const bytes = Buffer.from(text, 'utf8');
  return new Utf8(bytes, 0, bytes.length);
}
