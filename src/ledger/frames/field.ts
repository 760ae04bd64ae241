/**
 * Reads fields of a decoded frame. Absent, null and empty strings all mean "no value", because releases differ in which
 * fields they send. A field of another type is refused with its JSON path, because guessing would corrupt data.
 */
import { IndexerError } from '../../errors/indexer-error.ts';
import { parseTemplateId, type TemplateId } from '../../model/template-id.ts';
import { Utf8, type TextOrUtf8 } from '../../model/utf8.ts';

export type JsonObject = Readonly<Record<string, unknown>>;

/**
 * Error for a frame that cannot be indexed. It names the JSON path, and the found and the expected type, but never the
 * value.
 */
export function undecodable(path: string, expectation: string, actual: unknown): IndexerError {
  return new IndexerError(`cannot decode ${path}: expected ${expectation}, found ${describe(actual)}`, {
    code: 'UPDATE_UNDECODABLE',
    retry: 'park',
    remedy: 'compare the participant release with the supported ones; the update is not skipped, indexing waits here',
    facts: { path },
  });
}

function describe(value: unknown): string {
  if (value === null) return 'null';
  if (value === undefined) return 'nothing';
  return Array.isArray(value) ? 'an array' : typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function objectAt(value: unknown, path: string): JsonObject {
  if (isObject(value)) return value;
  throw undecodable(path, 'an object', value);
}

export function arrayAt(source: JsonObject, key: string, path: string): readonly unknown[] {
  const value = source[key];
  if (value === undefined || value === null) return [];
  if (Array.isArray(value)) return value as readonly unknown[];
  throw undecodable(`${path}.${key}`, 'an array', value);
}

/** Text; null if absent or empty. */
export function textAt(source: JsonObject, key: string, path: string): TextOrUtf8 | null {
  const value = source[key];
  if (value instanceof Utf8) return value.length === 0 ? null : value;
  return nonEmptyTextAt(source, key, path);
}

/** A text that is always a string, from the fast reader too; null if absent or empty. */
export function nonEmptyTextAt(source: JsonObject, key: string, path: string): string | null {
  const value = source[key];
  if (value === undefined || value === null || value === '') return null;
  if (typeof value === 'string') return value;
  throw undecodable(`${path}.${key}`, 'text', value);
}

export function requiredText(source: JsonObject, key: string, path: string): TextOrUtf8 {
  return textAt(source, key, path) ?? throwMissing(source, key, path);
}

export function requiredName(source: JsonObject, key: string, path: string): string {
  return nonEmptyTextAt(source, key, path) ?? throwMissing(source, key, path);
}

function throwMissing(source: JsonObject, key: string, path: string): never {
  throw undecodable(`${path}.${key}`, 'text', source[key]);
}

export function textsAt(source: JsonObject, key: string, path: string): readonly string[] {
  const values = arrayAt(source, key, path);
  for (const value of values) if (typeof value !== 'string') throw undecodable(`${path}.${key}[]`, 'text', value);
  return values as readonly string[];
}

export function flagAt(source: JsonObject, key: string, path: string): boolean | null {
  const value = source[key];
  if (value === undefined || value === null) return null;
  if (typeof value === 'boolean') return value;
  throw undecodable(`${path}.${key}`, 'true or false', value);
}

/** An integer that JavaScript holds exactly; null if absent. */
export function integerAt(source: JsonObject, key: string, path: string): number | null {
  const value = source[key];
  if (value === undefined || value === null) return null;
  if (typeof value === 'number' && Number.isSafeInteger(value)) return value;
  throw undecodable(`${path}.${key}`, 'an integer up to 2^53', value);
}

/** A 64-bit integer; a bigint if a JavaScript number would round it. */
export function int64At(source: JsonObject, key: string, path: string): number | bigint | null {
  const value = source[key];
  return typeof value === 'bigint' ? value : integerAt(source, key, path);
}

/** An offset: a positive integer. */
export function offsetAt(source: JsonObject, key: string, path: string): number {
  const value = integerAt(source, key, path);
  if (value === null || value < 0) throw undecodable(`${path}.${key}`, 'an offset', source[key]);
  return value;
}

export function templateIdAt(source: JsonObject, key: string, path: string): TemplateId {
  const id = parseTemplateId(requiredName(source, key, path));
  if (id === undefined) throw undecodable(`${path}.${key}`, 'package-id:Module:Entity', source[key]);
  return id;
}
