/** What can be told of a statement by its text: where it ends, and which word it begins with. In one pass over it. */

export interface StatementText {
  /** Without the semicolon and what follows it. */
  readonly bare: string;
  /** In lower case; parentheses before it are passed over. Empty when there is none. */
  readonly firstWord: string;
  /** Whether more than layout and comments follows the first semicolon. */
  readonly more: boolean;
}

const word = /[\p{L}_][\p{L}\p{N}_$]*/uy;
const layout = /[ \t\n\r\f\v]+/uy;
const toLineEnd = /[^\n\r]*/uy;
const dollarTag = /\$(?:[\p{L}_][\p{L}\p{N}_]*)?\$/uy;
const commentMark = /\/\*|\*\//gu;

/** Reads it as Postgres's own scanner would: comments nest, and strings may hold anything. */
export function readStatement(text: string): StatementText {
  let firstWord: string | undefined;
  let end: number | undefined;
  for (let at = 0; at < text.length;) {
    const passed = afterLayout(text, at);
    if (passed > at) {
      at = passed;
    } else if (text[at] === ';') {
      end ??= at;
      at += 1;
    } else if (end !== undefined) {
      return { bare: text.slice(0, end), firstWord: firstWord ?? '', more: true };
    } else {
      const token = matchEnd(word, text, at);
      if (text[at] !== '(') firstWord ??= text.slice(at, token).toLowerCase();
      at = afterToken(text, at, token);
    }
  }
  return { bare: text.slice(0, end), firstWord: firstWord ?? '', more: false };
}

/** Behind white space or one comment; `at` when there is neither. */
function afterLayout(text: string, at: number): number {
  if (text.startsWith('--', at)) return matchEnd(toLineEnd, text, at);
  if (!text.startsWith('/*', at)) return matchEnd(layout, text, at);
  let depth = 0;
  commentMark.lastIndex = at;
  for (let mark = commentMark.exec(text); mark !== null; mark = commentMark.exec(text)) {
    depth += mark[0] === '/*' ? 1 : -1;
    if (depth === 0) return commentMark.lastIndex;
  }
  return text.length;
}

/** @param wordEnd where the word ends that begins at `at`; `at` when none does */
function afterToken(text: string, at: number, wordEnd: number): number {
  const isEscape = wordEnd === at + 1 && /e/iu.test(text[at] ?? '') && text[wordEnd] === "'";
  if (isEscape) return behindQuote(text, wordEnd + 1, /''|'|\\[\s\S]/gu);
  if (wordEnd > at) return wordEnd;
  if (text[at] === "'") return behindQuote(text, at + 1, /'/gu);
  if (text[at] === '"') return behindQuote(text, at + 1, /"/gu);
  const tagEnd = matchEnd(dollarTag, text, at);
  if (tagEnd === at) return at + 1;
  const closing = text.indexOf(text.slice(at, tagEnd), tagEnd);
  return closing < 0 ? text.length : closing + tagEnd - at;
}

/**
 * Behind the closing quote, or at the end of the text where there is none. Outside of escape strings a doubled one closes
 * and opens again, which comes to the same.
 * @param marks quotes, and what may hide one, which is longer
 */
function behindQuote(text: string, at: number, marks: RegExp): number {
  marks.lastIndex = at;
  for (let mark = marks.exec(text); mark !== null; mark = marks.exec(text)) {
    if (mark[0].length === 1) return marks.lastIndex;
  }
  return text.length;
}

function matchEnd(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : at;
}
