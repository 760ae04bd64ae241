/** A line of CSV (RFC 4180). Null is written as nothing between two commas, the empty text as `""`. */
export function csvLine(values: readonly (string | null)[]): string {
  return `${values.map(quoteCell).join(',')}\r\n`;
}

function quoteCell(value: string | null): string {
  if (value === null) return '';
  return value === '' || /[",\r\n]/u.test(value) ? `"${value.replaceAll('"', '""')}"` : value;
}

/**
 * Positions where a cell may begin with a formula, after optional blanks: at the beginning of the text, after a
 * separator, or after the first line break or tab in a run of blanks. Each run of blanks is examined once, so that the
 * time is linear in the length of the text, which untrusted writers determine.
 */
const formulaStart = /(^|[;|]|(?<=[^\s;|])[^\S\t\r\n]*[\t\r\n])(?=\s*[=+\-@＝＋－＠])/gu;

/**
 * Text in which a spreadsheet finds no formula, for values from untrusted writers: an apostrophe precedes each possible
 * beginning of a formula. A formula may begin at the start of the text, and also after a separator of cells or rows
 * inside it. A spreadsheet that separates by `;` ignores quotes in the middle of its cells, so it splits a value that
 * is quoted here.
 */
export function escapeFormula(value: string | null): string | null {
  if (value === null) return null;
  return value.replaceAll(formulaStart, "$1'").replace(/^(?=[\t\r\n])/u, "'");
}
