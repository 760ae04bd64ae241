/** Scans the text of a statement in one pass, for its end, its first word and its parameters. */

export interface StatementText {
  /** The text up to the first semicolon. */
  readonly bare: string;
  /** First word in lower case, after any parentheses; empty if there is none. */
  readonly firstWord: string;
  /** Whether anything except white space and comments follows the first semicolon. */
  readonly more: boolean;
}

const identifierPattern = /[\p{L}_][\p{L}\p{N}_$]*/uy;
const layout = /[ \t\n\r\f\v]+/uy;
const toLineEnd = /[^\n\r]*/uy;
const dollarTag = /\$(?:[\p{L}_][\p{L}\p{N}_]*)?\$/uy;
const commentMark = /\/\*|\*\//gu;

/** Scans the text as Postgres does: comments may be nested, and strings may contain anything. */
export function readStatement(text: string): StatementText {
  let firstKeyword: string | undefined;
  let end: number | undefined;
  for (let position = 0; position < text.length;) {
    const nextPosition = skipLayout(text, position);
    if (nextPosition > position) {
      position = nextPosition;
    } else if (text[position] === ';') {
      end ??= position;
      position += 1;
    } else if (end !== undefined) {
      return { bare: text.slice(0, end), firstWord: firstKeyword ?? '', more: true };
    } else {
      const token = matchEnd(identifierPattern, text, position);
      if (text[position] !== '(') firstKeyword ??= text.slice(position, token).toLowerCase();
      position = skipToken(text, position, token);
    }
  }
  return { bare: text.slice(0, end), firstWord: firstKeyword ?? '', more: false };
}

/**
 * Replaces parameters such as `:from`, except in strings, quoted names and comments. Casts (`::type`) and other parameters
 * are kept.
 * @param values SQL of each parameter, by name
 */
export function replaceParameters(text: string, values: ReadonlyMap<string, string>): string {
  const parts: string[] = [];
  for (let position = 0; position < text.length;) {
    const begin = position;
    const value = text[begin] === ':' ? values.get(wordAt(text, begin + 1)) : undefined;
    if (text.startsWith('::', begin)) position += 2;
    else if (value !== undefined) position = matchEnd(identifierPattern, text, begin + 1);
    else {
      position = skipLayout(text, begin);
      if (position === begin) position = skipToken(text, begin, matchEnd(identifierPattern, text, begin));
    }
    parts.push(value ?? text.slice(begin, position));
  }
  return parts.join('');
}

function wordAt(text: string, at: number): string {
  return text.slice(at, matchEnd(identifierPattern, text, at)).toLowerCase();
}

/** Position after white space or one comment, or `at` if neither begins there. */
function skipLayout(text: string, at: number): number {
  if (text.startsWith('--', at)) return matchEnd(toLineEnd, text, at);
  if (!text.startsWith('/*', at)) return matchEnd(layout, text, at);
  let depth = 0;
  commentMark.lastIndex = at;
  for (let comment = commentMark.exec(text); comment !== null; comment = commentMark.exec(text)) {
    depth += comment[0] === '/*' ? 1 : -1;
    if (depth === 0) return commentMark.lastIndex;
  }
  return text.length;
}

/** @param wordEnd end of the word that begins at `at`; `at` if no word begins there */
function skipToken(text: string, at: number, wordEnd: number): number {
  const isEscape = wordEnd === at + 1 && /e/iu.test(text[at] ?? '') && text[wordEnd] === "'";
  if (isEscape) return skipQuoted(text, wordEnd + 1, /''|'|\\[\s\S]/gu);
  if (wordEnd > at) return wordEnd;
  if (text[at] === "'") return skipQuoted(text, at + 1, /'/gu);
  if (text[at] === '"') return skipQuoted(text, at + 1, /"/gu);
  const tagEnd = matchEnd(dollarTag, text, at);
  if (tagEnd === at) return at + 1;
  const closingIndex = text.indexOf(text.slice(at, tagEnd), tagEnd);
  return closingIndex < 0 ? text.length : closingIndex + tagEnd - at;
}

/**
 * Position after the closing quote, or the end of the text if there is none. Outside of escape strings, a doubled quote
 * is treated as the end of one string and the start of another, which gives the same end position.
 * @param quotePattern pattern of quotes, and of longer tokens that may contain a quote
 */
function skipQuoted(text: string, at: number, quotePattern: RegExp): number {
  quotePattern.lastIndex = at;
  for (let quoteMatch = quotePattern.exec(text); quoteMatch !== null; quoteMatch = quotePattern.exec(text)) {
    if (quoteMatch[0].length === 1) return quotePattern.lastIndex;
  }
  return text.length;
}

function matchEnd(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : at;
}
