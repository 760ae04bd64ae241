/** Splits SQL into words for colors and suggestions. Pure. */

/**
 * @typedef {'comment' | 'string' | 'quoted' | 'number' | 'keyword' | 'name' | 'other'} WordKind
 * @typedef {{ readonly kind: WordKind, readonly text: string }} Word
 */

const wordPattern =
  /--[^\n]*|\/\*[^]*?(?:\*\/|$)|'(?:[^']|'')*(?:'|$)|\$(\w*)\$[^]*?(?:\$\1\$|$)|"(?:[^"]|"")*(?:"|$)|\d+(?:\.\d+)?|[A-Za-z_][\w$]*|\s+|[^]/g;

const keywords = new Set(
  [
    'all and any array as asc between both by case cast collate cross current_date current_timestamp desc distinct else',
    'end escape except exists explain false fetch filter first following for from full group having ilike in inner',
    'intersect interval into is join last lateral leading left like limit materialized natural not null nulls offset on',
    'only or order ordinality outer over partition preceding range recursive right row rows select show similar some',
    'symmetric table tablesample then ties to trailing true unbounded union unnest using values when where window with',
    'within without',
  ].flatMap((line) => line.split(' ')),
);

/** The words of a statement, including blanks; joined they are the statement. @param {string} statement */
export function wordsOf(statement) {
  return Array.from(statement.matchAll(wordPattern), ([text]) => ({ kind: kindOf(text), text }));
}

/** @param {string} text @returns {WordKind} */
function kindOf(text) {
  if (/^(?:--|\/\*)/.test(text)) return 'comment';
  if (/^(?:'|\$\w*\$)/.test(text)) return 'string';
  if (text.startsWith('"')) return 'quoted';
  if (/^\d/.test(text)) return 'number';
  if (/^[A-Za-z_]/.test(text)) return isKeyword(text) ? 'keyword' : 'name';
  return 'other';
}

/** @param {string} text */
export function isKeyword(text) {
  return keywords.has(text.toLowerCase());
}

/** Whether a comment or a string begins before the end of the text and ends after it. @param {string} text */
export function endsInText(text) {
  const last = wordsOf(text).at(-1);
  if (last === undefined) return false;
  if (last.text.startsWith('--')) return true;
  if (last.kind === 'comment') return last.text.length < 4 || !last.text.endsWith('*/');
  if (last.kind !== 'string') return false;
  const quote = last.text.startsWith("'") ? "'" : last.text.slice(0, last.text.indexOf('$', 1) + 1);
  return last.text.length < 2 * quote.length || !last.text.endsWith(quote);
}
