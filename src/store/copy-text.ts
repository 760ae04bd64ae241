/** Rows as COPY text: tab-separated, `\N` for null, arrays as literals. One string per table and batch. */
import type { ColumnValue, Row } from '../model/tables.ts';

const special = /[\\\t\n\r]/;

/** The COPY text of rows, one line each. */
export function copyText(rows: readonly Row[]): string {
  let text = '';
  for (const row of rows) {
    let separator = '';
    for (const value of row) {
      text += separator + field(value);
      separator = '\t';
    }
    text += '\n';
  }
  return text;
}

function field(value: ColumnValue): string {
  if (value === null) return String.raw`\N`;
  if (typeof value === 'string') return escaped(value);
  if (typeof value === 'boolean') return value ? 't' : 'f';
  if (typeof value === 'object') return escaped(arrayLiteral(value));
  return String(value);
}

function escaped(text: string): string {
  return special.test(text) ? text.replaceAll(/[\\\t\n\r]/g, escapeCharacter) : text;
}

function escapeCharacter(character: string): string {
  if (character === '\\') return '\\\\';
  if (character === '\t') return String.raw`\t`;
  return character === '\n' ? String.raw`\n` : String.raw`\r`;
}

function arrayLiteral(values: readonly string[]): string {
  if (values.length === 0) return '{}';
  return `{${values.map((value) => `"${value.replaceAll(/[\\"]/g, String.raw`\$&`)}"`).join(',')}}`;
}
