/**
 * Writes values that node-postgres returned as TypeScript expressions, so that the compiler compares them with a type.
 */

/** An expression that evaluates to the value. */
export function literal(value: unknown): string {
  if (value instanceof Date) return `new Date(${JSON.stringify(value)})`;
  if (value instanceof Uint8Array) return 'new Uint8Array()';
  if (Array.isArray(value)) return `[${value.map(literal).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'undefined';
  const entries = Object.entries(value).map(([key, nestedValue]) => `${JSON.stringify(key)}: ${literal(nestedValue)}`);
  // An interval object has methods.
  if ('toPostgres' in value) entries.push("toPostgres: () => '', toISO: () => '', toISOString: () => ''");
  return `{ ${entries.join(', ')} }`;
}
