/**
 * JSON in the sandbox: read-only values, and the few conversions that its parsing of requests needs. Every accessor is
 * as lenient as the participant's decoder: a missing or null key counts as absent.
 */

export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: Json;
}

/** The value as an object; undefined if it is not one (an array is not). */
export function asObject(value: Json | undefined): JsonObject | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  return value as JsonObject;
}

/** The value as a list; empty for other values. */
export function asList(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? (value as readonly Json[]) : [];
}

/** The value as text; empty for other values. */
export function asText(value: Json | undefined): string {
  return typeof value === 'string' ? value : '';
}

/** The texts in a list; other elements are dropped. */
export function asTexts(value: Json | undefined): string[] {
  return asList(value).filter((element): element is string => typeof element === 'string');
}

/** The text of a nested key path; empty if any step is missing. */
export function textAt(value: Json | undefined, ...path: readonly string[]): string {
  let current: Json | undefined = value;
  for (const key of path) current = asObject(current)?.[key];
  return asText(current);
}

/** Parsed JSON; undefined if the text is not JSON. */
export function parseJson(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

/** Maximum nesting of parsed values. Deeper values could be parsed, but not printed or compared. */
const defaultMaxDepth = 512;

/** Whether the text nests lists and objects deeper than this. */
function isTooDeep(text: string, maxDepth: number): boolean {
  if (text.length <= maxDepth) return false;
  let depth = 0;
  let inText = false;
  for (let position = 0; position < text.length; position += 1) {
    const char = text[position];
    if (inText && char === '\\') position += 1;
    else if (char === '"') inText = !inText;
    else if (inText) continue;
    else if (char === '[' || char === '{') depth += 1;
    else if (char === ']' || char === '}') depth -= 1;
    if (depth > maxDepth) return true;
  }
  return false;
}

/** The same text, in which integers that a number cannot represent exactly are replaced by texts with their digits. */
function withExactIntegers(text: string): string {
  if (!/\d{16}/.test(text)) return text;
  return text.replaceAll(/"(?:[^"\\]|\\.)*"|-?\d{16,}(?![\d.eE])/g, (token) =>
    token.startsWith('"') || Number.isSafeInteger(Number(token)) ? token : `"${token}"`,
  );
}

/** Parses JSON of a client; undefined if the text is not JSON, or is nested deeper than a request may be. */
export function parseRequest(text: string, maxDepth = defaultMaxDepth): Json | undefined {
  return isTooDeep(text, maxDepth) ? undefined : parseJson(withExactIntegers(text));
}

/** The error of the participant's parser for a text that is not JSON; undefined if its wording is not known. */
export function syntaxProblem(text: string): string | undefined {
  const [first] = text.trimStart();
  if (first !== undefined && !'{["-0123456789tfn'.includes(first)) {
    return `expected json value got '${text.slice(0, 200)}' (line 1, column 1)`;
  }
  try {
    JSON.parse(text);
  } catch (error) {
    if (String(error).includes('end of JSON input')) return 'exhausted input';
  }
  return undefined;
}
