/**
 * What Postgres cannot hold, made holdable without losing it. jsonb refuses NUL, lone surrogates and extreme nesting;
 * text refuses NUL and turns lone surrogates into U+FFFD silently. Both encodings are reversible.
 */

/** Postgres overflows its stack well above this; Daml itself stops at 100. */
const maximumNesting = 500;

const suspicious = /\\u(?:0000|d[89a-f])/i;
const refused = /\\u0000|\\ud[89ab][0-9a-f]{2}(?!\\ud[c-f])|(?<!\\ud[89ab][0-9a-f]{2})\\ud[c-f][0-9a-f]{2}/i;

/**
 * JSON text that jsonb accepts: the same text, or `{"$escaped":"<the text>"}` where it holds what jsonb refuses.
 * `->>'$escaped'` gives the ledger's own text back.
 */
export function jsonbText(text: string): string {
  const odd = (suspicious.test(text) && refused.test(text)) || (text.length > maximumNesting && nesting(text));
  return odd ? `{"$escaped":${JSON.stringify(text)}}` : text;
}

/** Whether brackets nest deeper than Postgres should be asked to parse. Text without a long run of openings is cheap. */
function nesting(text: string): boolean {
  let depth = 0;
  let inString = false;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (inString) {
      if (code === 0x5c) at += 1;
      else if (code === 0x22) inString = false;
    } else if (code === 0x22) inString = true;
    else if (code === 0x7b || code === 0x5b) {
      depth += 1;
      if (depth > maximumNesting) return true;
    } else if (code === 0x7d || code === 0x5d) depth -= 1;
  }
  return false;
}

const escapedPrefix = 'json:"';

/**
 * Text that a text column accepts: the same, or `json:"…"` (the text as a JSON literal) where it holds NUL or a lone
 * surrogate, or itself begins like that.
 */
export function columnText(text: string): string {
  if (!text.includes('\u0000') && text.isWellFormed() && !text.startsWith(escapedPrefix)) return text;
  return `json:${JSON.stringify(text)}`;
}
