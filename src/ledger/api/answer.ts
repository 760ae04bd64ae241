/**
 * Reads responses of the participant, and requests lists. Only fields that a caller needs are checked. All other fields
 * are returned unchanged, because releases differ in the fields that they omit, send as null or add.
 */
import { isObject, type JsonObject } from '../frames/field.ts';
import { ledgerError } from '../errors/make-ledger-error.ts';
import type { Query } from '../transport/endpoint-url.ts';

/** Content of a field that a release may leave out: absent options are null (3.5) or missing. */
export type Maybe<T> = T | null | undefined;

function nameOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'an array' : typeof value;
}

/** The response as an object. @throws IndexerError LEDGER_NOT_A_LEDGER */
export function responseObject(response: unknown, path: string): JsonObject {
  if (isObject(response)) return response;
  throw ledgerError('LEDGER_NOT_A_LEDGER', `expected an object from ${path}, found ${nameOf(response)}`);
}

function field(response: unknown, name: string): unknown {
  return isObject(response) ? response[name] : undefined;
}

/** An offset: an integer from 0 to 2^53-1. @throws IndexerError LEDGER_UNDECODABLE */
export function responseOffset(response: unknown, name: string, path: string): number {
  const value = field(response, name);
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
  const actualText = typeof value === 'number' ? 'a number outside 0..2^53-1' : nameOf(value);
  throw ledgerError('LEDGER_UNDECODABLE', `expected an offset in '${name}' of ${path}, found ${actualText}`);
}

/** A text that every release sends. @throws IndexerError LEDGER_NOT_A_LEDGER */
export function responseText(response: unknown, name: string, path: string): string {
  const value = field(response, name);
  if (typeof value === 'string') return value;
  throw ledgerError('LEDGER_NOT_A_LEDGER', `expected a text in '${name}' of ${path}, found ${nameOf(value)}`);
}

/** A nested object that every release sends. @throws IndexerError LEDGER_UNDECODABLE */
export function responseField(response: unknown, name: string, path: string): JsonObject {
  const value = field(response, name);
  if (isObject(value)) return value;
  throw ledgerError('LEDGER_UNDECODABLE', `expected an object in '${name}' of ${path}, found ${nameOf(value)}`);
}

/** A list; empty when it is absent. @throws IndexerError LEDGER_UNDECODABLE when it is not a list */
export function responseList(response: unknown, name: string, path: string): readonly unknown[] {
  const value = field(response, name);
  if (value === undefined || value === null) return [];
  if (Array.isArray(value)) return value as readonly unknown[];
  throw ledgerError('LEDGER_UNDECODABLE', `expected a list in '${name}' of ${path}, found ${nameOf(value)}`);
}

/** A list of texts; empty when it is absent. @throws IndexerError LEDGER_UNDECODABLE */
export function responseTexts(response: unknown, name: string, path: string): readonly string[] {
  const values = responseList(response, name, path);
  if (values.every((value) => typeof value === 'string')) return values;
  throw ledgerError('LEDGER_UNDECODABLE', `expected a list of texts in '${name}' of ${path}, found another type`);
}

/** A list whose entries have a text as key in the field `key`. @throws IndexerError LEDGER_UNDECODABLE */
export function responseEntries<K extends string>(
  response: unknown,
  name: string,
  key: K,
  path: string,
): readonly (JsonObject & Readonly<Record<K, string>>)[] {
  const values = responseList(response, name, path);
  const invalidEntry = values.find((value) => typeof field(value, key) !== 'string');
  if (invalidEntry === undefined) return values as readonly (JsonObject & Readonly<Record<K, string>>)[];
  throw ledgerError('LEDGER_UNDECODABLE', `expected a text in '${name}[].${key}' of ${path}, found another type`);
}

/** The token of the next page; undefined on the last page. */
export function nextPageToken(response: unknown): string | undefined {
  const value = field(response, 'nextPageToken');
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/**
 * Checks an offset to be sent to the ledger.
 * @throws IndexerError LEDGER_REQUEST_INVALID when JSON would not carry it exactly
 */
export function sentOffset(offset: number | undefined, name: string): void {
  if (offset === undefined || Number.isSafeInteger(offset)) return;
  throw ledgerError('LEDGER_REQUEST_INVALID', `expected an integer up to 2^53-1 as ${name}, found another number`);
}

// Lists over HTTP. The node returns the same elements as on the WebSocket of the same path, in one array. Use them only
// for small results. If there are more than 200 elements, the node refuses the request (LEDGER_REQUEST_INVALID, HTTP
// 413). If `limit` is at most 200, the node truncates the list without a warning.

export interface ListOptions {
  /** Maximum number of elements. */
  readonly limit?: number;
  /**
   * The node responds after this many milliseconds without a new element; default 500. Use it for lists that have no
   * end. Keep it below the request timeouts of both sides (20 s at the node).
   */
  readonly streamIdleTimeoutMs?: number;
}

/** The query parameters of a list. */
export function listQuery({ limit, streamIdleTimeoutMs }: ListOptions): Query {
  return { limit, stream_idle_timeout_ms: streamIdleTimeoutMs };
}
