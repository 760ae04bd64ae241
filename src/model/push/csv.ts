/** A line of CSV (RFC 4180): nothing between two commas is null, `""` the empty text. */
export function csvLine(values: readonly (string | null)[]): string {
  return `${values.map(quoted).join(',')}\r\n`;
}

function quoted(value: string | null): string {
  if (value === null) return '';
  return value === '' || /[",\r\n]/u.test(value) ? `"${value.replaceAll('"', '""')}"` : value;
}

/**
 * Where a cell begins with a formula, blanks aside: at the begin of the text, behind a separator, or behind the first line break or tab of some
 * blanks. Each run of blanks is looked at once, so that the time is linear in the length of the text, which other people chose.
 */
const beforeFormula = /(^|[;|]|(?<=[^\s;|])[^\S\t\r\n]*[\t\r\n])(?=\s*[=+\-@＝＋－＠])/gu;

/**
 * Text in which a spreadsheet finds no formula, for values that other people write: an apostrophe stands before what would begin one. A cell
 * begins with the text, and behind whatever else separates cells or rows: a spreadsheet that separates by `;` ignores quotes in the middle of
 * its cells, so it splits a value that is quoted here.
 */
export function noFormula(value: string | null): string | null {
  if (value === null) return null;
  return value.replaceAll(beforeFormula, "$1'").replace(/^(?=[\t\r\n])/u, "'");
}
