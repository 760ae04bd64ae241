/**
 * The quick way to read a frame: knowing its shape, it goes through the text once, takes fields as slices and leaves
 * payloads as they are: nothing of a payload is parsed here, Postgres does that, once. Fields it does not know it names and
 * passes over; what else looks unusual (spaces, other kinds of updates) it leaves to the scanner.
 */
import type { JsonObject } from './field.ts';
import type { Field, Shape } from './frame-shapes.ts';
import { fieldName } from './known-fields.ts';

const quote = 0x22;
const backslash = 0x5c;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const comma = 0x2c;
const colon = 0x3a;
const minus = 0x2d;
const literal = /[^\s,\]}"[{:]+/y;
const zero = 0x30;
const letterN = 0x6e;
/** More digits may not be exact in a number. */
const exactDigits = 15;

const none: readonly string[] = [];
/** One error for all: making one costs more than reading a field. */
const unusual = new SyntaxError('not a frame for the quick reader');

export interface ReadFrame {
  /** The structure; in the place of each payload stands its index. */
  readonly value: JsonObject;
  readonly payloads: readonly string[];
  /** Fields that were passed over, as `Message.field`. */
  readonly unknown: readonly string[];
}

/** The frame as objects, or undefined when the scanner has to read it. */
export function readFrame(text: string, shape: Shape): ReadFrame | undefined {
  const reader = new FrameReader(text);
  try {
    const value = reader.object(shape);
    return reader.at === text.length
      ? { value, payloads: reader.payloads, unknown: reader.unknown ?? none }
      : undefined;
  } catch (thrown) {
    if (thrown instanceof SyntaxError) return undefined;
    throw thrown;
  }
}

class FrameReader {
  readonly #text: string;
  at = 0;
  readonly payloads: string[] = [];
  unknown: string[] | undefined;
  /** The first backslash at or after a place already passed; the end of the text when there is none. */
  #escapeAt = -1;

  constructor(text: string) {
    this.#text = text;
  }

  object(shape: Shape): JsonObject {
    const text = this.#text;
    this.#expect(openBrace);
    const values = shape.blank();
    if (text.charCodeAt(this.at) === closeBrace) throw unusual;
    for (let position = 0; ; position += 1) {
      let field = shape.order[position];
      if (field === undefined || !text.startsWith(field.label, this.at)) field = this.#field(shape, position);
      if (field === undefined) this.#passOver(shape);
      else {
        this.at += field.label.length;
        values[field.slot] = this.#value(field);
      }
      const next = text.charCodeAt(this.at);
      this.at += 1;
      if (next === comma) continue;
      if (next === closeBrace) return shape.make(values);
      throw unusual;
    }
  }

  /** The field whose key comes next; undefined for one that the shape does not have. */
  #field(shape: Shape, position: number): Field | undefined {
    for (const field of shape.fields) {
      if (!this.#text.startsWith(field.label, this.at)) continue;
      shape.order[position] = field;
      return field;
    }
    if (shape.message === undefined) throw unusual;
    return undefined;
  }

  /** A key with its value that nobody asks for; it has to be JSON nevertheless. */
  #passOver({ message = '' }: Shape): void {
    const { at } = this;
    const end = this.#text.indexOf('"', at + 1);
    // An escaped key may be one of the shape's.
    if (this.#text.charCodeAt(at) !== quote || end === -1 || this.#escapedBefore(at, end)) throw unusual;
    if (this.#text.charCodeAt(end + 1) !== colon) throw unusual;
    const start = end + 2;
    this.at = this.#endOfValue(start);
    JSON.parse(this.#text.slice(start, this.at));
    this.unknown ??= [];
    this.unknown.push(fieldName(message, this.#text.slice(at + 1, end)));
  }

  #value(field: Field): unknown {
    return this.#text.charCodeAt(this.at) === letterN ? this.#null() : this.#present(field);
  }

  #null(): null {
    if (!this.#text.startsWith('null', this.at)) throw unusual;
    this.at += 4;
    return null;
  }

  #present(field: Field): unknown {
    if (field.kind === 'text') return this.#textValue();
    if (field.kind === 'integer') return this.#integer();
    if (field.kind === 'flag') return this.#flag();
    if (field.kind === 'payload') return this.#payload();
    return field.kind === 'object' ? this.object(field.shape) : this.#list(field.shape);
  }

  #textValue(): string {
    const start = this.at;
    if (this.#text.charCodeAt(start) !== quote) throw unusual;
    const end = this.#text.indexOf('"', start + 1);
    if (end === -1 || this.#escapedBefore(start, end)) return this.#escapedText(start);
    this.at = end + 1;
    return this.#text.slice(start + 1, end);
  }

  #escapedText(start: number): string {
    this.at = this.#endOfString(start);
    return JSON.parse(this.#text.slice(start, this.at)) as string;
  }

  #integer(): number {
    const text = this.#text;
    const negative = text.charCodeAt(this.at) === minus;
    const start = negative ? this.at + 1 : this.at;
    let at = start;
    let number = 0;
    for (let digit = text.charCodeAt(at) - zero; digit >= 0 && digit <= 9; digit = text.charCodeAt(at) - zero) {
      number = number * 10 + digit;
      at += 1;
    }
    const digits = at - start;
    if (digits === 0 || digits > exactDigits || (digits > 1 && text.charCodeAt(start) === zero)) throw unusual;
    this.at = at;
    return negative ? -number : number;
  }

  #flag(): boolean {
    const flag = this.#text.startsWith('true', this.at);
    if (!flag && !this.#text.startsWith('false', this.at)) throw unusual;
    this.at += flag ? 4 : 5;
    return flag;
  }

  /** Texts, or objects where a shape is given. */
  #list(shape: Shape | undefined): readonly unknown[] {
    const values: unknown[] = [];
    this.#expect(openBracket);
    if (this.#text.charCodeAt(this.at) === closeBracket) {
      this.at += 1;
      return values;
    }
    for (;;) {
      values.push(shape === undefined ? this.#textValue() : this.object(shape));
      const next = this.#text.charCodeAt(this.at);
      this.at += 1;
      if (next === closeBracket) return values;
      if (next !== comma) throw unusual;
    }
  }

  /** Keeps the text of a value. */
  #payload(): number {
    const start = this.at;
    this.at = this.#endOfValue(start);
    this.payloads.push(this.#text.slice(start, this.at));
    return this.payloads.length - 1;
  }

  #endOfValue(start: number): number {
    const first = this.#text.charCodeAt(start);
    if (first === quote) return this.#endOfString(start);
    if (first === openBrace || first === openBracket) return this.#endOfBrackets(start);
    literal.lastIndex = start;
    const length = literal.exec(this.#text)?.[0].length;
    if (length === undefined) throw unusual;
    return start + length;
  }

  #endOfBrackets(start: number): number {
    const text = this.#text;
    let depth = 0;
    for (let at = start; at < text.length;) {
      const code = text.charCodeAt(at);
      if (code === quote) {
        at = this.#endOfString(at);
        continue;
      }
      at += 1;
      if (code === openBrace || code === openBracket) depth += 1;
      else if (code === closeBrace || code === closeBracket) {
        depth -= 1;
        if (depth === 0) return at;
      }
    }
    throw unusual;
  }

  #endOfString(start: number): number {
    const text = this.#text;
    for (let at = text.indexOf('"', start + 1); at !== -1; at = text.indexOf('"', at + 1)) {
      if (!this.#escapedBefore(start, at)) return at + 1;
      let before = at - 1;
      while (text.charCodeAt(before) === backslash) before -= 1;
      if ((at - before) % 2 === 1) return at + 1;
    }
    throw unusual;
  }

  /** Whether there is a backslash between two places, of which the first is never before that of an earlier call. */
  #escapedBefore(start: number, end: number): boolean {
    if (this.#escapeAt < start) {
      const found = this.#text.indexOf('\\', start);
      this.#escapeAt = found === -1 ? this.#text.length : found;
    }
    return this.#escapeAt < end;
  }

  #expect(code: number): void {
    if (this.#text.charCodeAt(this.at) !== code) throw unusual;
    this.at += 1;
  }
}
