/**
 * The fast way to read a frame: its payloads are cut out as slices of the text, and only the structure around them is
 * given to JSON.parse, half the text or less. Nothing of a payload is parsed here: Postgres does that, once.
 */
import { payloadKeys } from './raw-json.ts';

const quote = 0x22;
const backslash = 0x5c;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const comma = 0x2c;

const payloadKey = new RegExp(`"(?:${[...payloadKeys].join('|')})"[ \\t\\r\\n]*:[ \\t\\r\\n]*`, 'g');

export interface CutFrame {
  /** The parsed structure; in the place of each payload stands its index. */
  readonly value: unknown;
  readonly payloads: readonly string[];
}

/**
 * The frame in two parts, or undefined when only the scanner can tell them apart (escapes in the structure, which may
 * spell a key differently).
 * @throws SyntaxError when the structure is not JSON; whether a payload is, its reader finds out
 */
export function cutPayloads(text: string): CutFrame | undefined {
  const payloads: string[] = [];
  let structure = '';
  let from = 0;
  payloadKey.lastIndex = 0;
  for (let found = payloadKey.exec(text); found !== null; found = payloadKey.exec(text)) {
    // Within a string the opening quote would be escaped.
    if (text.charCodeAt(found.index - 1) === backslash) continue;
    const start = payloadKey.lastIndex;
    const end = endOfValue(text, start);
    structure += text.slice(from, start) + String(payloads.length);
    payloads.push(text.slice(start, end));
    payloadKey.lastIndex = from = end;
  }
  structure += text.slice(from);
  return structure.includes(String.raw`\u`) ? undefined : { value: JSON.parse(structure), payloads };
}

/** Where the value that begins at `start` ends, by counting brackets. @throws SyntaxError when it never does */
function endOfValue(text: string, start: number): number {
  const first = text.charCodeAt(start);
  if (first === quote) return endOfString(text, start);
  if (first !== openBrace && first !== openBracket) return endOfLiteral(text, start);
  let depth = 0;
  for (let at = start; at < text.length;) {
    const code = text.charCodeAt(at);
    if (code === quote) {
      at = endOfString(text, at);
      continue;
    }
    at += 1;
    if (code === openBrace || code === openBracket) depth += 1;
    else if (code === closeBrace || code === closeBracket) {
      depth -= 1;
      if (depth === 0) return at;
    }
  }
  throw new SyntaxError('a payload has no end');
}

function endOfString(text: string, start: number): number {
  for (let at = text.indexOf('"', start + 1); at !== -1; at = text.indexOf('"', at + 1)) {
    let before = at - 1;
    while (text.charCodeAt(before) === backslash) before -= 1;
    if ((at - before) % 2 === 1) return at + 1;
  }
  throw new SyntaxError('a string has no end');
}

function endOfLiteral(text: string, start: number): number {
  let at = start;
  while (at < text.length) {
    const code = text.charCodeAt(at);
    if (code === comma || code === closeBrace || code === closeBracket || code <= 0x20) break;
    at += 1;
  }
  if (at === start) throw new SyntaxError('a payload is missing');
  return at;
}
