/** JSON as a participant writes it: compact, with numbers of any size, and with parts that are already text. */

/** JSON text that is inserted unchanged. */
export class RawJson {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export type Json =
  string | number | boolean | bigint | null | RawJson | readonly Json[] | { readonly [key: string]: Json };

export function jsonText(value: Json): string {
  if (value instanceof RawJson) return value.text;
  if (typeof value === 'bigint') return String(value);
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  if (isList(value)) return `[${value.map(jsonText).join(',')}]`;
  const fields = Object.entries(value).map(([key, field]) => `${JSON.stringify(key)}:${jsonText(field)}`);
  return `{${fields.join(',')}}`;
}

function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value);
}
