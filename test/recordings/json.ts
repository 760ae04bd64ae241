/**
 * A JSON parser that preserves the source: numbers and objects keep their text. It is separate, so that compared values
 * do not pass through code of the indexer or through code that rounds.
 */

/** A number as its text in the source. */
export class JsonNumber {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

export class JsonObject {
  readonly fields: ReadonlyMap<string, Json>;
  /** The text of the object in the source. */
  readonly text: string;
  constructor(fields: ReadonlyMap<string, Json>, text = '') {
    this.fields = fields;
    this.text = text;
  }
}

export type Json = null | boolean | string | JsonNumber | JsonObject | readonly Json[];

const simpleEscapes: Readonly<Record<string, string>> = {
  '"': '"',
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
};
const whitespace = /[ \t\n\r]*/y;
const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const literal = /true|false|null/y;
/** A run of characters without escapes, or one escape. */
const stringPattern = /[^"\\]+|\\(?:u([0-9a-fA-F]{4})|(["\\/bfnrt]))/y;

class Parser {
  readonly #source: string;
  #at = 0;

  constructor(source: string) {
    this.#source = source;
  }

  parse(): Json {
    const value = this.#value();
    this.#match(whitespace);
    if (this.#at !== this.#source.length) throw this.#unexpected();
    return value;
  }

  #value(): Json {
    this.#match(whitespace);
    switch (this.#source.charAt(this.#at)) {
      case '{':
        return this.#object();
      case '[':
        return this.#list(']', () => this.#value());
      case '"':
        return this.#string();
      case 't':
      case 'f':
      case 'n':
        return this.#word();
      default:
        return new JsonNumber(this.#expect(number)[0]);
    }
  }

  #object(): JsonObject {
    const startPosition = this.#at;
    const fields = new Map<string, Json>();
    this.#list('}', () => {
      this.#match(whitespace);
      const name = this.#string();
      this.#match(whitespace);
      this.#expect(/:/y);
      if (fields.has(name)) throw new Error(`the field ${name} is there twice`);
      fields.set(name, this.#value());
      return null;
    });
    return new JsonObject(fields, this.#source.slice(startPosition, this.#at));
  }

  #list(end: string, element: () => Json): Json[] {
    const elements: Json[] = [];
    this.#at += 1;
    this.#match(whitespace);
    if (this.#source[this.#at] === end) {
      this.#at += 1;
      return elements;
    }
    for (;;) {
      elements.push(element());
      this.#match(whitespace);
      if (this.#expect(/[,\]}]/y)[0] === ',') continue;
      if (this.#source[this.#at - 1] !== end) throw this.#unexpected();
      return elements;
    }
  }

  #string(): string {
    this.#expect(/"/y);
    let text = '';
    for (;;) {
      const match = this.#match(stringPattern);
      if (match === undefined) break;
      const [run, unit, letter] = match;
      if (unit !== undefined) text += String.fromCharCode(Number.parseInt(unit, 16));
      else text += letter === undefined ? run : (simpleEscapes[letter] ?? '');
    }
    this.#expect(/"/y);
    return text;
  }

  #word(): boolean | null {
    const [text] = this.#expect(literal);
    return text === 'null' ? null : text === 'true';
  }

  #match(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.#at;
    const match = pattern.exec(this.#source) ?? undefined;
    if (match !== undefined) this.#at += match[0].length;
    return match;
  }

  #expect(pattern: RegExp): RegExpExecArray {
    const match = this.#match(pattern);
    if (match === undefined) throw this.#unexpected();
    return match;
  }

  #unexpected(): Error {
    return new Error(`no JSON at ${String(this.#at)}: ${this.#source.slice(this.#at, this.#at + 20)}`);
  }
}

/** @throws Error if the text is not JSON, or if a field occurs twice */
export function parseJson(text: string): Json {
  return new Parser(text).parse();
}

/** @throws Error if the value is not an object */
export function asObject(value: Json | undefined): JsonObject {
  if (value instanceof JsonObject) return value;
  throw new Error('expected an object');
}

/** @throws Error if the value is not a string */
export function asText(value: Json | undefined): string {
  if (typeof value === 'string') return value;
  throw new Error('expected a text');
}

/** For numbers that JavaScript represents exactly, such as offsets. */
export function asInteger(value: Json | undefined): number {
  const parsedNumber = value instanceof JsonNumber ? Number(value.text) : Number.NaN;
  if (Number.isSafeInteger(parsedNumber)) return parsedNumber;
  throw new Error('expected an integer');
}

/** The only field of an object, for example the kind of an update with its value. */
export function singleFieldOf(value: Json | undefined): readonly [string, Json] {
  const [field, ...otherFields] = asObject(value).fields;
  if (field === undefined || otherFields.length > 0) throw new Error('expected an object of one field');
  return field;
}

/**
 * All leaves with their paths and exact values as text. A leaf is a value that is not a list or object, or an empty
 * list or object. Strings are compared unchanged, including lone surrogates.
 */
export function* leavesOf(value: Json | undefined, path = ''): Generator<readonly [path: string, text: string]> {
  if (value instanceof JsonObject) {
    if (value.fields.size === 0) yield [path, '{}'];
    for (const [name, nestedJson] of value.fields) yield* leavesOf(nestedJson, `${path}.${name}`);
  } else if (Array.isArray(value)) {
    if (value.length === 0) yield [path, '[]'];
    for (const [index, nestedJson] of (value as readonly Json[]).entries())
      yield* leavesOf(nestedJson, `${path}[${String(index)}]`);
  } else if (value instanceof JsonNumber) yield [path, value.text];
  else if (typeof value === 'string') yield [path, `"${value}"`];
  else yield [path, JSON.stringify(value ?? null)];
}

export function countLeaves(value: Json | undefined): number {
  return [...leavesOf(value)].length;
}
