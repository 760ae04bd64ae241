/**
 * Escapes content that Postgres cannot store, without loss. Postgres refuses NUL, lone surrogates and extreme nesting
 * in jsonb. In text, it refuses NUL and silently turns lone surrogates into U+FFFD. Both encodings are reversible.
 */

/** Maximum nesting that is stored as jsonb. Postgres overflows its stack well above this; Daml itself stops at 100. */
const maximumNesting = 500;

const unicodeEscape = String.raw`\u`;
const suspiciousEscape = /\\u(?:0000|d[89a-f])/i;
/**
 * One escape of a JSON string. Reading escapes one by one distinguishes `\\u0000` (a backslash, then u0000) from NUL.
 */
const singleEscape = /\\(?:u([0-9a-fA-F]{4})|[^u])/g;
/** The first key, if it begins with a dollar sign. */
const dollarKey = /^\s*\{\s*("(?:\$|\\u0024)(?:[\w$]|\\u[0-9a-fA-F]{4})*")/;

/**
 * JSON text that jsonb accepts. It is the same text, or `{"$escaped":"<the text>"}` if the text contains something that
 * jsonb refuses, or itself looks like that. `->>'$escaped'` returns the ledger's own text.
 */
export function jsonbText(text: string): string {
  const needsEscape =
    (text.includes(unicodeEscape) && suspiciousEscape.test(text) && holdsRefused(text)) ||
    (hasManyOpenings(text) && nesting(text)) ||
    isEscapeLookalike(text);
  return needsEscape ? `{"$escaped":${JSON.stringify(text)}}` : text;
}

/** Whether the text would be mistaken for our own escape. Any letter of its key may be written as an escape. */
function isEscapeLookalike(text: string): boolean {
  const key = dollarKey.exec(text)?.[1];
  return key !== undefined && JSON.parse(key) === '$escaped';
}

/** Whether an escape encodes NUL or half of a surrogate pair. */
function holdsRefused(text: string): boolean {
  let lowExpectedAt = -1;
  for (const escapeMatch of text.matchAll(singleEscape)) {
    const unit = escapeMatch[1] === undefined ? 0x20 : Number.parseInt(escapeMatch[1], 16);
    const isLowSurrogate = unit >= 0xdc00 && unit <= 0xdfff;
    if (unit === 0 || isLowSurrogate !== (lowExpectedAt === escapeMatch.index)) return true;
    if (lowExpectedAt !== -1 && !isLowSurrogate) return true;
    lowExpectedAt = unit >= 0xd800 && unit <= 0xdbff ? escapeMatch.index + escapeMatch[0].length : -1;
  }
  return lowExpectedAt !== -1;
}

/**
 * Whether there are enough brackets for nesting that is too deep. Searching for them is far cheaper than parsing them.
 */
function hasManyOpenings(text: string): boolean {
  // Every opening bracket has a closing one.
  if (text.length <= 2 * maximumNesting) return false;
  let openings = 0;
  for (const bracket of '{[') {
    for (let position = text.indexOf(bracket); position !== -1; position = text.indexOf(bracket, position + 1)) {
      openings += 1;
      if (openings > maximumNesting) return true;
    }
  }
  return false;
}

/** Whether brackets nest deeper than Postgres should parse. */
function nesting(text: string): boolean {
  let depth = 0;
  let isInString = false;
  for (let position = 0; position < text.length; position += 1) {
    const code = text.charCodeAt(position);
    if (isInString) {
      if (code === 0x5c) position += 1;
      else if (code === 0x22) isInString = false;
    } else if (code === 0x22) isInString = true;
    else if (code === 0x7b || code === 0x5b) {
      depth += 1;
      if (depth > maximumNesting) return true;
    } else if (code === 0x7d || code === 0x5d) depth -= 1;
  }
  return false;
}

const escapedPrefix = 'json:"';

/**
 * Text that a text column accepts. It is the same text, or `json:"…"` (the text as a JSON literal) if the text contains
 * NUL or a lone surrogate, or itself begins like that.
 */
export function columnText(text: string): string {
  if (!text.includes('\u0000') && text.isWellFormed() && !text.startsWith(escapedPrefix)) return text;
  return `json:${JSON.stringify(text)}`;
}
