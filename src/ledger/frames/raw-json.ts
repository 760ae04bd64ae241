/**
 * Parses a frame without losing what JavaScript cannot represent: JSON.parse rounds numbers beyond 2^53 and drops the
 * scale of decimals. Nesting has no limit here. So payloads remain slices of the ledger's own text. `frame-reader.ts`
 * does that for common frames. This scanner does it for any frame, more slowly, and keeps large numbers outside of
 * payloads exact.
 */

/** A JSON value left as its original text. */
export class RawJson {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** Keys whose values are payloads: kept as text, whatever they contain. */
export const payloadKeys: ReadonlySet<string> = new Set([
  'createArgument',
  'contractKey',
  'choiceArgument',
  'exerciseResult',
  'viewValue',
  'details',
]);

/** Deepest nesting that the scanner follows outside payloads; the interface needs less than 12. */
const structureLimit = 64;

/** The frame as a JavaScript value with every payload as RawJson; `text` must be valid JSON. */
export function scanFrame(text: string): unknown {
  return new Scanner(text).value(0);
}

/** The JSON text of a payload: the ledger's own text if it was kept, otherwise serialized again; null if absent. */
export function jsonTextOf(value: unknown): string | null {
  if (value === undefined || value === null) return null;
  if (value instanceof RawJson) return value.text;
  return JSON.stringify(value);
}

/** Objects of scanned frames, with their positions in the text. */
const sourceRanges = new WeakMap<object, { readonly text: string; readonly start: number; readonly end: number }>();

/** The ledger's own text of an object of a scanned frame, including every blank; undefined for any other value. */
export function sourceTextOf(value: unknown): string | undefined {
  if (value instanceof RawJson) return value.text;
  const position = typeof value === 'object' && value !== null ? sourceRanges.get(value) : undefined;
  return position?.text.slice(position.start, position.end);
}

const quote = 0x22;
const backslash = 0x5c;

class Scanner {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  value(depth: number): unknown {
    this.#space();
    const first = this.#text[this.#at];
    if (depth > structureLimit) return this.#raw();
    if (first === '{') return this.#object(depth);
    if (first === '[') return this.#array(depth);
    return scalar(this.#slice());
  }

  #object(depth: number): Record<string, unknown> {
    const result: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
    const start = this.#at;
    this.#at += 1;
    for (this.#space(); this.#text[this.#at] !== '}'; this.#space()) {
      if (this.#text[this.#at] === ',') {
        this.#at += 1;
        this.#space();
      }
      const key = String(JSON.parse(this.#slice()));
      this.#space();
      this.#at += 1;
      result[key] = payloadKeys.has(key) ? this.#raw() : this.value(depth + 1);
    }
    this.#at += 1;
    sourceRanges.set(result, { text: this.#text, start, end: this.#at });
    return result;
  }

  #array(depth: number): unknown[] {
    const result: unknown[] = [];
    this.#at += 1;
    for (this.#space(); this.#text[this.#at] !== ']'; this.#space()) {
      if (this.#text[this.#at] === ',') this.#at += 1;
      result.push(this.value(depth + 1));
    }
    this.#at += 1;
    return result;
  }

  #raw(): RawJson | null {
    this.#space();
    const text = this.#slice();
    return text === 'null' ? null : new RawJson(text);
  }

  /**
   * The text of the value that begins here. It is found by counting brackets instead of recursion, so its depth has no
   * limit.
   */
  #slice(): string {
    const start = this.#at;
    let depth = 0;
    do {
      const code = this.#text.charCodeAt(this.#at);
      if (code === quote) this.#string();
      else if (code === 0x7b || code === 0x5b) {
        depth += 1;
        this.#at += 1;
      } else if (code === 0x7d || code === 0x5d) {
        depth -= 1;
        this.#at += 1;
      } else if (depth > 0) this.#at += 1;
      else this.#literal();
    } while (depth > 0);
    return this.#text.slice(start, this.#at);
  }

  #string(): void {
    this.#at += 1;
    while (this.#text.charCodeAt(this.#at) !== quote) {
      this.#at += this.#text.charCodeAt(this.#at) === backslash ? 2 : 1;
    }
    this.#at += 1;
  }

  #literal(): void {
    const end = /[,\]}\s]|$/g;
    end.lastIndex = this.#at;
    this.#at = end.exec(this.#text)?.index ?? this.#text.length;
  }

  #space(): void {
    while (this.#at < this.#text.length && this.#text.charCodeAt(this.#at) <= 0x20) this.#at += 1;
  }
}

function scalar(text: string): unknown {
  const value: unknown = JSON.parse(text);
  const isLossy = typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value);
  return isLossy && /^-?\d+$/.test(text) ? BigInt(text) : value;
}
