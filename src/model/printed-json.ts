/**
 * Prints JSON as Postgres prints a `jsonb` value: keys ordered by length and then by bytes, the last of duplicate keys,
 * numbers without exponent and with the scale they were written in. It uses rules of its own, so that the values that
 * `verify` compares do not pass through the code that wrote them. Pure.
 */

/** Maximum nesting; the writer stores deeper values as text. */
const maxDepth = 500;

/**
 * Thrown for a value that the fast function cannot print: numbers, which JavaScript rounds, and content that jsonb
 * cannot store.
 */
const unprintableValue = new RangeError('to be printed from its text');

/** Prints a parsed value; undefined if it has to be printed from its text with {@link printJsonText}. */
export function printJsonValue(value: unknown): string | undefined {
  try {
    if (isEscapeAlike(value)) return undefined;
    return printValue(value, 0);
  } catch (thrown) {
    if (thrown === unprintableValue) return undefined;
    throw thrown;
  }
}

/**
 * Prints JSON text. The result is `raw:` and the text itself if jsonb cannot store it, or if it looks like the escape.
 */
export function printJsonText(text: string): string {
  const [, firstKey = '""'] = /^\s*\{\s*("(?:[^"\\]|\\.)*")/.exec(text) ?? [];
  if (JSON.parse(firstKey) === '$escaped') return `raw:${text}`;
  try {
    return new ExactPrinter(text).value(0);
  } catch (thrown) {
    if (thrown === unprintableValue) return `raw:${text}`;
    throw thrown;
  }
}

function isEscapeAlike(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value)[0] === '$escaped';
}

function printValue(value: unknown, depth: number): string {
  if (typeof value === 'string') return quoteText(value);
  if (value === null) return 'null';
  if (typeof value === 'boolean') return value ? 'true' : 'false';
  if (typeof value !== 'object') throw unprintableValue;
  if (depth >= maxDepth) throw unprintableValue;
  if (Array.isArray(value)) return `[${value.map((entry) => printValue(entry, depth + 1)).join(', ')}]`;
  const source = value as Readonly<Record<string, unknown>>;
  let text = '';
  for (const key of Object.keys(source).sort(byJsonbOrder)) {
    text += `${text === '' ? '' : ', '}${quoteText(key)}: ${printValue(source[key], depth + 1)}`;
  }
  return `{${text}}`;
}

/** Matches texts whose characters need no escape. Most texts have no others, and checking is cheaper than escaping. */
const plainTextPattern = /^[ !#-[\]-\ud7ff\ue000-\uffff]*$/;

function quoteText(text: string): string {
  if (plainTextPattern.test(text)) return `"${text}"`;
  const literal = JSON.stringify(text);
  if (literal.length > text.length + 2 && (text.includes('\u0000') || !text.isWellFormed())) throw unprintableValue;
  return literal;
}

const lengths = new Map<string, number>();
const lengthsLimit = 10_000;

/** Length of a key in UTF-8, cached because keys repeat. */
function bytesOf(key: string): number {
  const knownLength = lengths.get(key);
  if (knownLength !== undefined) return knownLength;
  if (lengths.size >= lengthsLimit) lengths.clear();
  const bytes = Buffer.byteLength(key);
  lengths.set(key, bytes);
  return bytes;
}

function byJsonbOrder(a: string, b: string): number {
  const length = bytesOf(a);
  const difference = length - bytesOf(b);
  if (difference !== 0) return difference;
  // UTF-16 order equals UTF-8 order only without surrogates.
  if (length !== a.length) return Buffer.compare(Buffer.from(a), Buffer.from(b));
  return a < b ? -1 : a > b ? 1 : 0;
}

/** A number as `numeric` prints it: `1e2` is 100, `1.50` stays, `1.0e-1` is 0.10, minus zero has no sign. */
export function printNumber(literal: string): string {
  const [, minusSign = '', integer = '', fraction = '', exponentText = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(literal) ?? [];
  const exponent = Number(exponentText);
  // The number is beyond the range of `numeric`, which would have refused it.
  if (integer === '' || Math.abs(exponent) > 20_000) throw unprintableValue;
  const digits = integer + fraction;
  const scale = Math.max(0, fraction.length - exponent);
  const paddedDigits = exponent > fraction.length ? digits + '0'.repeat(exponent - fraction.length) : digits;
  const filledDigits = paddedDigits.padStart(scale + 1, '0');
  const before = filledDigits.slice(0, filledDigits.length - scale).replace(/^0+(?=\d)/, '');
  const text = scale === 0 ? before : `${before}.${filledDigits.slice(filledDigits.length - scale)}`;
  return minusSign === '-' && /[1-9]/.test(text) ? `-${text}` : text;
}

const space = /[ \t\n\r]*/y;
const literalForm = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;
const stringForm = /"(?:[^"\\]|\\.)*"/y;

/** Prints valid JSON text without converting numbers to JavaScript numbers. */
class ExactPrinter {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  value(depth: number): string {
    this.#take(space);
    const first = this.#text[this.#at];
    if (first === '"') return quoteText(this.#string());
    if (first !== '{' && first !== '[') {
      const literal = this.#take(literalForm);
      if (literal === '') throw unprintableValue;
      return /^[tfn]/.test(literal) ? literal : printNumber(literal);
    }
    if (depth >= maxDepth) throw unprintableValue;
    this.#at += 1;
    return first === '{' ? this.#object(depth) : this.#array(depth);
  }

  #object(depth: number): string {
    const values = new Map<string, string>();
    while (this.#more('}')) {
      const key = this.#string();
      this.#take(space);
      this.#at += 1;
      values.set(key, this.value(depth + 1));
    }
    const keys = [...values.keys()].sort(byJsonbOrder);
    return `{${keys.map((key) => `${quoteText(key)}: ${values.get(key) ?? ''}`).join(', ')}}`;
  }

  #array(depth: number): string {
    const values: string[] = [];
    while (this.#more(']')) values.push(this.value(depth + 1));
    return `[${values.join(', ')}]`;
  }

  /** Skips the comma before the next entry, or the closing bracket. @returns whether an entry follows */
  #more(closingBracket: string): boolean {
    this.#take(space);
    const next = this.#text[this.#at];
    if (next === undefined) throw unprintableValue;
    if (next === closingBracket || next === ',') this.#at += 1;
    if (next === ',') this.#take(space);
    return next !== closingBracket;
  }

  #string(): string {
    const literal = this.#take(stringForm);
    if (literal === '') throw unprintableValue;
    return JSON.parse(literal) as string;
  }

  #take(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const matchedText = pattern.exec(this.#text)?.[0] ?? '';
    this.#at += matchedText.length;
    return matchedText;
  }
}
