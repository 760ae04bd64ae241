/**
 * Reads a frame of a known shape fast: it passes through the bytes once and does not copy texts and payloads. Payloads
 * are not parsed here, because Postgres does that. Unknown fields are skipped and reported by name. Other unusual
 * content (spaces, other kinds of updates) is left to the scanner.
 */
import { Utf8, type TextOrUtf8 } from '../../model/utf8.ts';
import type { JsonObject } from './field.ts';
import { encodeText, type Field, type EncodedText, type Shape } from './frame-shapes.ts';
import { fieldName } from './known-fields.ts';
import { RecurringTexts, viewOf } from './recurring.ts';

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
const maxDefaultNesting = 200;

const emptyNames: readonly string[] = [];
/** One error object for all cases, because creating one costs more than reading a field. */
const unreadableFrame = new SyntaxError('not a frame for the quick reader');

/** By byte: 1 if it may end a text (the quote), or needs a closer check. */
const textEndBytes = new Uint8Array(256).fill(1, 0, space);
for (const code of [quote, backslash]) textEndBytes[code] = 1;

const textStart = 1;
const openingByte = 2;
const closingByte = 3;
/** By byte: its meaning for the structure of JSON outside of texts. */
const structure = new Uint8Array(256);
structure[quote] = textStart;
for (const code of [openBrace, openBracket]) structure[code] = openingByte;
for (const code of [closeBrace, closeBracket]) structure[code] = closingByte;

const trueLiteral = encodeText('true');
const falseLiteral = encodeText('false');
const nullLiteral = encodeText('null');

const mebibyte = 1024 * 1024;
/** Cache of names of templates, packages, choices and synchronizers. A ledger has thousands at most. */
const names = new RecurringTexts((text) => text, mebibyte);
/** Cache of lists of parties and interfaces: more than ten thousand lists of two parties each. */
const lists = new RecurringTexts(parseTextList, 2 * mebibyte);

function parseTextList(listText: string): readonly string[] {
  const list: unknown = JSON.parse(listText);
  if (!Array.isArray(list) || !list.every((text) => typeof text === 'string')) throw unreadableFrame;
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
    return reader.at === frame.end ? { value, unknown: reader.unknown ?? emptyNames } : undefined;
  } catch (thrown) {
    if (thrown instanceof SyntaxError) return undefined;
    throw thrown;
  }
}

/** The latest view, which is reused because consecutive frames are in the same memory. */
let lastView: { readonly bytes: Buffer; readonly view: DataView } | undefined;

function cachedView(bytes: Buffer): DataView {
  if (lastView?.bytes !== bytes) lastView = { bytes, view: viewOf(bytes) };
  return lastView.view;
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
    this.#view = cachedView(bytes);
    this.#end = end;
    this.at = start;
  }

  object(shape: Shape): JsonObject {
    const bytes = this.#bytes;
    this.#expect(openBrace);
    const values = shape.blank();
    if (bytes[this.at] === closeBrace) throw unreadableFrame;
    for (let position = 0; ; position += 1) {
      let field = shape.order[position];
      if (field === undefined || !this.#isNext(field.label)) field = this.#field(shape, position);
      if (field === undefined) this.#passOver(shape);
      else {
        this.at += field.label.bytes.length;
        // Of two values for one key the later one would count, and nothing would check whether the earlier one is JSON.
        if (values[field.slot] !== undefined) throw unreadableFrame;
        values[field.slot] = bytes[this.at] === letterN ? this.#null() : this.#value(field);
      }
      const next = bytes[this.at];
      this.at += 1;
      if (next === comma) continue;
      if (next === closeBrace) return shape.make(values);
      throw unreadableFrame;
    }
  }

  /** The field whose key comes next; undefined if the shape does not have it. */
  #field(shape: Shape, position: number): Field | undefined {
    for (const field of shape.fields) {
      if (!this.#isNext(field.label)) continue;
      shape.order[position] = field;
      return field;
    }
    if (shape.message === undefined) throw unreadableFrame;
    return undefined;
  }

  /** Skips an unknown key and its value. The value has to be JSON nevertheless. */
  #passOver({ message = '' }: Shape): void {
    const { at: position } = this;
    const bytes = this.#bytes;
    if (bytes[position] !== quote) throw unreadableFrame;
    const key = this.#endOfString(position);
    // An escaped key may be a key of the shape.
    if (bytes.subarray(position, key).includes(backslash) || bytes[key] !== colon) throw unreadableFrame;
    this.at = this.#endOfValue(key + 1);
    JSON.parse(this.#slice(key + 1, this.at));
    this.unknown ??= [];
    this.unknown.push(fieldName(message, this.#slice(position + 1, key - 1)));
  }

  #isNext({ words: int32Words, bytes: label }: EncodedText): boolean {
    const { at: position } = this;
    // Prevents reading words beyond the memory; a frame never ends with a label.
    if (position + label.length > this.#end) return false;
    for (let wordIndex = 0; wordIndex < int32Words.length; wordIndex += 1) {
      if (this.#view.getInt32(position + wordIndex * 4, true) !== int32Words[wordIndex]) return false;
    }
    for (let index = int32Words.length * 4; index < label.length; index += 1)
      if (this.#bytes[position + index] !== label[index]) return false;
    return true;
  }

  #null(): null {
    if (!this.#isNext(nullLiteral)) throw unreadableFrame;
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
        throw unreadableFrame;
    }
  }

  #text(): TextOrUtf8 {
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
    if (bytes[this.at] !== quote) throw unreadableFrame;
    const end = this.#end;
    let position = this.at + 1;
    while (position < end && textEndBytes[bytes[position] ?? 0] === 0) position += 1;
    if (position >= end || (bytes[position] ?? 0) < space) throw unreadableFrame;
    if (bytes[position] === backslash) return undefined;
    this.at = position + 1;
    return position;
  }

  #escapedText(start: number): string {
    this.at = this.#endOfString(start);
    return JSON.parse(this.#slice(start, this.at)) as string;
  }

  #names(): readonly string[] {
    const start = this.at;
    // If a text in the list contained a bracket, the list would end here too early and would not be JSON.
    const last = this.#bytes.indexOf(closeBracket, start);
    if (this.#bytes[start] !== openBracket || last === -1 || last >= this.#end) throw unreadableFrame;
    this.at = last + 1;
    return lists.at(this.#bytes, this.#view, start, last + 1);
  }

  #integer(): number {
    const bytes = this.#bytes;
    const negative = bytes[this.at] === minus;
    const start = negative ? this.at + 1 : this.at;
    let position = start;
    let number = 0;
    for (let digit = (bytes[position] ?? 0) - zero; digit >= 0 && digit <= 9; digit = (bytes[position] ?? 0) - zero) {
      number = number * 10 + digit;
      position += 1;
    }
    const digits = position - start;
    if (digits === 0 || digits > exactDigits || (digits > 1 && bytes[start] === zero)) throw unreadableFrame;
    this.at = position;
    return negative ? -number : number;
  }

  #flag(): boolean {
    const flag = this.#isNext(trueLiteral);
    if (!flag && !this.#isNext(falseLiteral)) throw unreadableFrame;
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
      if (next !== comma) throw unreadableFrame;
    }
  }

  #payload(): TextOrUtf8 {
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
    for (let position = start; position < end;) {
      const byteClass = structure[bytes[position] ?? 0] ?? 0;
      position += 1;
      if (byteClass === 0) continue;
      if (byteClass === textStart) {
        while (position < end && textEndBytes[bytes[position] ?? 0] === 0) position += 1;
        if (bytes[position] === quote) position += 1;
        else position = this.#endOfText(position);
      } else if (byteClass === openingByte) {
        depth += 1;
        if (depth > maxDefaultNesting) this.#odd = true;
      } else {
        depth -= 1;
        if (depth === 0) return position;
      }
    }
    throw unreadableFrame;
  }

  #endOfString(start: number): number {
    return this.#endOfText(start + 1);
  }

  /** Position after the closing quote of a text. @param start a position inside the text */
  #endOfText(start: number): number {
    const bytes = this.#bytes;
    const end = this.#end;
    for (let position = start; position < end; position += 1) {
      const code = bytes[position] ?? 0;
      if (code === quote) return position + 1;
      if (code !== backslash) continue;
      position += 1;
      if (bytes[position] === letterU) this.#odd = true;
    }
    throw unreadableFrame;
  }

  /** The end of a number, true or false; which of these it is, is not checked here. */
  #endOfLiteral(start: number): number {
    const bytes = this.#bytes;
    let position = start;
    while (position < this.#end && isOfLiteral(bytes[position] ?? 0)) position += 1;
    if (position === start) throw unreadableFrame;
    return position;
  }

  #slice(start: number, end: number): string {
    return this.#bytes.toString('utf8', start, end);
  }

  #expect(code: number): void {
    if (this.#bytes[this.at] !== code) throw unreadableFrame;
    this.at += 1;
  }
}

function isOfLiteral(code: number): boolean {
  if (code <= space || code === comma || code === quote || code === colon) return false;
  return code !== openBrace && code !== closeBrace && code !== openBracket && code !== closeBracket;
}
