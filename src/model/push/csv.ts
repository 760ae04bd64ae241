/** A line of CSV (RFC 4180): nothing between two commas is null, `""` the empty text. */
export function csvLine(values: readonly (string | null)[]): string {
  return `${values.map(quoted).join(',')}\r\n`;
}

function quoted(value: string | null): string {
  if (value === null) return '';
  return value === '' || /[",\r\n]/u.test(value) ? `"${value.replaceAll('"', '""')}"` : value;
}

/**
 * Where a cell begins with a formula, ignoring blanks: at the beginning of the text, after a separator, or after the
 * first line break or tab of some blanks. Each run of blanks is examined once, so that the time is linear in the length
 * of the text, which others chose.
 */
const beforeFormula = /(^|[;|]|(?<=[^\s;|])[^\S\t\r\n]*[\t\r\n])(?=\s*[=+\-@＝＋－＠])/gu;

/**
 * Text in which a spreadsheet finds no formula, for values from untrusted writers: an apostrophe precedes each possible
 * beginning of a formula. A cell begins with the text, and after every other separator of cells or rows: a spreadsheet
 * that separates by `;` ignores quotes in the middle of its cells, so it splits a value that is quoted here.
 */
export function noFormula(value: string | null): string | null {
  if (value === null) return null;
  return value.replaceAll(beforeFormula, "$1'").replace(/^(?=[\t\r\n])/u, "'");
}
