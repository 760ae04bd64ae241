/**
 * Reads a frame of a known shape fast: it passes through the bytes once and does not copy texts and payloads. Payloads
 * are not parsed here, because Postgres does that. Unknown fields are skipped and reported by name. Other unusual
 * content (spaces, other kinds of updates) is left to the scanner.
 */
import { Utf8, type Text } from '../../model/utf8.ts';
import type { JsonObject } from './field.ts';
import { printed, type Field, type Printed, type Shape } from './frame-shapes.ts';
import { fieldName } from './known-fields.ts';
import { Recurring, viewOf } from './recurring.ts';

const quote = 0x22;
const backslash = 0x5c;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const comma = 0x2c;
const colon = 0x3a;
const minus = 0x2d;
const dollar = 0x24;
const zero = 0x30;
const space = 0x20;
const letterN = 0x6e;
const letterU = 0x75;
/** Maximum number of digits of an integer read here; more may not be exact in a number. */
const exactDigits = 15;
/** Payloads with deeper nesting than this are checked as text, see `jsonbText`. */
const usualNesting = 200;

const none: readonly string[] = [];
/** One error object for all cases, because creating one costs more than reading a field. */
const unusual = new SyntaxError('not a frame for the quick reader');

/** By byte: 1 if it may end a text (the quote), or needs a closer check. */
const endsText = new Uint8Array(256).fill(1, 0, space);
for (const code of [quote, backslash]) endsText[code] = 1;

const asText = 1;
const asOpening = 2;
const asClosing = 3;
/** By byte: its meaning for the structure of JSON outside of texts. */
const structure = new Uint8Array(256);
structure[quote] = asText;
for (const code of [openBrace, openBracket]) structure[code] = asOpening;
for (const code of [closeBrace, closeBracket]) structure[code] = asClosing;

const printedTrue = printed('true');
const printedFalse = printed('false');
const printedNull = printed('null');

const mebibyte = 1024 * 1024;
/** Cache of names of templates, packages, choices and synchronizers. A ledger has thousands at most. */
const names = new Recurring((text) => text, mebibyte);
/** Cache of lists of parties and interfaces: more than ten thousand lists of two parties each. */
const lists = new Recurring(listOf, 2 * mebibyte);

function listOf(printed: string): readonly string[] {
  const list: unknown = JSON.parse(printed);
  if (!Array.isArray(list) || !list.every((text) => typeof text === 'string')) throw unusual;
  return list;
}

export interface ReadFrame {
  /**
   * The objects of the frame. Payloads, and texts that differ from frame to frame, point into the frame as {@link Utf8};
   * if they have to be checked before they can be stored, they are strings.
   */
  readonly value: JsonObject;
  /** Names of skipped fields, as `Message.field`. */
  readonly unknown: readonly string[];
}

/** The frame as objects; undefined if the scanner has to read it. */
export function readFrame(frame: Utf8, shape: Shape): ReadFrame | undefined {
  const reader = new FrameReader(frame);
  try {
    const value = reader.object(shape);
    return reader.at === frame.end ? { value, unknown: reader.unknown ?? none } : undefined;
  } catch (thrown) {
    if (thrown instanceof SyntaxError) return undefined;
    throw thrown;
  }
}

/** The latest view, which is reused because consecutive frames are in the same memory. */
let viewed: { readonly bytes: Buffer; readonly view: DataView } | undefined;

function viewOnto(bytes: Buffer): DataView {
  if (viewed?.bytes !== bytes) viewed = { bytes, view: viewOf(bytes) };
  return viewed.view;
}

/**
 * Reads one frame. It may read beyond the end of the frame, but then finds unexpected bytes, or an end that is not the
 * frame's.
 */
class FrameReader {
  readonly #bytes: Buffer;
  readonly #view: DataView;
  readonly #end: number;
  at: number;
  unknown: string[] | undefined;
  /** Whether the last skipped value has to be checked before it can be stored as jsonb. */
  #odd = false;

  constructor({ bytes, start, end }: Utf8) {
    this.#bytes = bytes;
    this.#view = viewOnto(bytes);
    this.#end = end;
    this.at = start;
  }

  object(shape: Shape): JsonObject {
    const bytes = this.#bytes;
    this.#expect(openBrace);
    const values = shape.blank();
    if (bytes[this.at] === closeBrace) throw unusual;
    for (let position = 0; ; position += 1) {
      let field = shape.order[position];
      if (field === undefined || !this.#isNext(field.label)) field = this.#field(shape, position);
      if (field === undefined) this.#passOver(shape);
      else {
        this.at += field.label.bytes.length;
        // Of two values for one key the later one would count, and nothing would check whether the earlier one is JSON.
        if (values[field.slot] !== undefined) throw unusual;
        values[field.slot] = bytes[this.at] === letterN ? this.#null() : this.#value(field);
      }
      const next = bytes[this.at];
      this.at += 1;
      if (next === comma) continue;
      if (next === closeBrace) return shape.make(values);
      throw unusual;
    }
  }

  /** The field whose key comes next; undefined if the shape does not have it. */
  #field(shape: Shape, position: number): Field | undefined {
    for (const field of shape.fields) {
      if (!this.#isNext(field.label)) continue;
      shape.order[position] = field;
      return field;
    }
    if (shape.message === undefined) throw unusual;
    return undefined;
  }

  /** Skips an unknown key and its value. The value has to be JSON nevertheless. */
  #passOver({ message = '' }: Shape): void {
    const { at } = this;
    const bytes = this.#bytes;
    if (bytes[at] !== quote) throw unusual;
    const key = this.#endOfString(at);
    // An escaped key may be a key of the shape.
    if (bytes.subarray(at, key).includes(backslash) || bytes[key] !== colon) throw unusual;
    this.at = this.#endOfValue(key + 1);
    JSON.parse(this.#slice(key + 1, this.at));
    this.unknown ??= [];
    this.unknown.push(fieldName(message, this.#slice(at + 1, key - 1)));
  }

  #isNext({ words, bytes: label }: Printed): boolean {
    const { at } = this;
    // Prevents reading words beyond the memory; a frame never ends with a label.
    if (at + label.length > this.#end) return false;
    for (let wordIndex = 0; wordIndex < words.length; wordIndex += 1) {
      if (this.#view.getInt32(at + wordIndex * 4, true) !== words[wordIndex]) return false;
    }
    for (let index = words.length * 4; index < label.length; index += 1)
      if (this.#bytes[at + index] !== label[index]) return false;
    return true;
  }

  #null(): null {
    if (!this.#isNext(printedNull)) throw unusual;
    this.at += 4;
    return null;
  }

  #value(field: Field): unknown {
    switch (field.kind) {
      case 'text':
        return this.#text();
      case 'name':
        return this.#name();
      case 'names':
        return this.#names();
      case 'payload':
        return this.#payload();
      case 'integer':
        return this.#integer();
      case 'flag':
        return this.#flag();
      case 'object':
        return this.object(field.shape);
      case 'objects':
        return this.#objects(field.shape);
      default:
        throw unusual;
    }
  }

  #text(): Text {
    const start = this.at;
    const end = this.#endOfPlain();
    return end === undefined ? this.#escapedText(start) : new Utf8(this.#bytes, start + 1, end);
  }

  #name(): string {
    const start = this.at;
    const end = this.#endOfPlain();
    return end === undefined ? this.#escapedText(start) : names.at(this.#bytes, this.#view, start + 1, end);
  }

  /** Skips a text up to its closing quote; undefined if it contains an escape. */
  #endOfPlain(): number | undefined {
    const bytes = this.#bytes;
    if (bytes[this.at] !== quote) throw unusual;
    const end = this.#end;
    let at = this.at + 1;
    while (at < end && endsText[bytes[at] ?? 0] === 0) at += 1;
    if (at >= end || (bytes[at] ?? 0) < space) throw unusual;
    if (bytes[at] === backslash) return undefined;
    this.at = at + 1;
    return at;
  }

  #escapedText(start: number): string {
    this.at = this.#endOfString(start);
    return JSON.parse(this.#slice(start, this.at)) as string;
  }

  #names(): readonly string[] {
    const start = this.at;
    // If a text in the list contained a bracket, the list would end here too early and would not be JSON.
    const last = this.#bytes.indexOf(closeBracket, start);
    if (this.#bytes[start] !== openBracket || last === -1 || last >= this.#end) throw unusual;
    this.at = last + 1;
    return lists.at(this.#bytes, this.#view, start, last + 1);
  }

  #integer(): number {
    const bytes = this.#bytes;
    const negative = bytes[this.at] === minus;
    const start = negative ? this.at + 1 : this.at;
    let at = start;
    let number = 0;
    for (let digit = (bytes[at] ?? 0) - zero; digit >= 0 && digit <= 9; digit = (bytes[at] ?? 0) - zero) {
      number = number * 10 + digit;
      at += 1;
    }
    const digits = at - start;
    if (digits === 0 || digits > exactDigits || (digits > 1 && bytes[start] === zero)) throw unusual;
    this.at = at;
    return negative ? -number : number;
  }

  #flag(): boolean {
    const flag = this.#isNext(printedTrue);
    if (!flag && !this.#isNext(printedFalse)) throw unusual;
    this.at += flag ? 4 : 5;
    return flag;
  }

  #objects(shape: Shape): readonly JsonObject[] {
    const values: JsonObject[] = [];
    this.#expect(openBracket);
    if (this.#bytes[this.at] === closeBracket) {
      this.at += 1;
      return values;
    }
    for (;;) {
      values.push(this.object(shape));
      const next = this.#bytes[this.at];
      this.at += 1;
      if (next === closeBracket) return values;
      if (next !== comma) throw unusual;
    }
  }

  #payload(): Text {
    const start = this.at;
    this.#odd = false;
    this.at = this.#endOfValue(start);
    return this.#odd || this.#beginsOddly(start) ? this.#slice(start, this.at) : new Utf8(this.#bytes, start, this.at);
  }

  /** Whether the first key may be the key of our own escape, which occurs only at the beginning of an object. */
  #beginsOddly(start: number): boolean {
    const bytes = this.#bytes;
    if (bytes[start] !== openBrace || bytes[start + 1] === closeBrace) return false;
    return bytes[start + 1] !== quote || bytes[start + 2] === dollar || bytes[start + 2] === backslash;
  }

  #endOfValue(start: number): number {
    const first = this.#bytes[start];
    if (first === quote) return this.#endOfString(start);
    return first === openBrace || first === openBracket ? this.#endOfBrackets(start) : this.#endOfLiteral(start);
  }

  #endOfBrackets(start: number): number {
    const bytes = this.#bytes;
    const end = this.#end;
    let depth = 0;
    for (let at = start; at < end;) {
      const sort = structure[bytes[at] ?? 0] ?? 0;
      at += 1;
      if (sort === 0) continue;
      if (sort === asText) {
        while (at < end && endsText[bytes[at] ?? 0] === 0) at += 1;
        if (bytes[at] === quote) at += 1;
        else at = this.#endOfText(at);
      } else if (sort === asOpening) {
        depth += 1;
        if (depth > usualNesting) this.#odd = true;
      } else {
        depth -= 1;
        if (depth === 0) return at;
      }
    }
    throw unusual;
  }

  #endOfString(start: number): number {
    return this.#endOfText(start + 1);
  }

  /** Position after the closing quote of a text. @param part a position inside the text */
  #endOfText(part: number): number {
    const bytes = this.#bytes;
    const end = this.#end;
    for (let at = part; at < end; at += 1) {
      const code = bytes[at] ?? 0;
      if (code === quote) return at + 1;
      if (code !== backslash) continue;
      at += 1;
      if (bytes[at] === letterU) this.#odd = true;
    }
    throw unusual;
  }

  /** The end of a number, true or false; which of these it is, is not checked here. */
  #endOfLiteral(start: number): number {
    const bytes = this.#bytes;
    let at = start;
    while (at < this.#end && isOfLiteral(bytes[at] ?? 0)) at += 1;
    if (at === start) throw unusual;
    return at;
  }

  #slice(start: number, end: number): string {
    return this.#bytes.toString('utf8', start, end);
  }

  #expect(code: number): void {
    if (this.#bytes[this.at] !== code) throw unusual;
    this.at += 1;
  }
}

function isOfLiteral(code: number): boolean {
  if (code <= space || code === comma || code === quote || code === colon) return false;
  return code !== openBrace && code !== closeBrace && code !== openBracket && code !== closeBracket;
}
