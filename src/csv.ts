/** A line of CSV (RFC 4180): nothing between two commas is null, `""` the empty text. */
export function csvLine(values: readonly (string | null)[]): string {
  return `${values.map(quoted).join(',')}\r\n`;
}

function quoted(value: string | null): string {
  if (value === null) return '';
  return value === '' || /[",\r\n]/u.test(value) ? `"${value.replaceAll('"', '""')}"` : value;
}

/** Text that a spreadsheet would take for a formula, behind an apostrophe: others write reasons and ids. */
export function noFormula(value: string | null): string | null {
  return value !== null && /^[=+\-@\t\r\n]/u.test(value) ? `'${value}` : value;
}
