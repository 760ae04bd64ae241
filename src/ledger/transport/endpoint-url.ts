/**
 * Addresses of the JSON Ledger API under a base URL. The participant may be configured with a path prefix, so a base
 * URL may contain a path, which comes before the path of every endpoint.
 */
import { ledgerError } from '../errors/make-ledger-error.ts';

/** Parameters of a query; undefined values are left out. */
export type Query = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;

/** The path with its query parameters; a list becomes one parameter per element. */
export function withQuery(path: string, query: Query = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined) continue;
    const values: readonly unknown[] = Array.isArray(value) ? value : [value];
    for (const singleValue of values) parameters.append(name, String(singleValue));
  }
  return parameters.size === 0 ? path : `${path}?${parameters.toString()}`;
}

/**
 * A party, user or package id as one segment of a path.
 * @throws IndexerError LEDGER_REQUEST_INVALID for an empty id, and for dots, which would address another endpoint
 */
export function pathSegment(value: string): string {
  if (value !== '' && value !== '.' && value !== '..') return encodeURIComponent(value);
  throw ledgerError('LEDGER_REQUEST_INVALID', 'expected an id for a path of the ledger, found nothing or only dots');
}

/** The base URL with the endpoint's path appended. Query and fragment of the base URL are dropped. */
export function httpEndpoint(baseUrl: string, path: string): URL {
  const url = new URL(baseUrl);
  const [pathname = '', search = ''] = path.split('?', 2);
  url.pathname = `${url.pathname.replace(/\/+$/u, '')}${pathname}`;
  url.search = search;
  url.hash = '';
  return url;
}

/** The same for a WebSocket: http becomes ws, https becomes wss. */
export function socketEndpoint(baseUrl: string, path: string): URL {
  const url = httpEndpoint(baseUrl, path);
  url.protocol = url.protocol === 'https:' || url.protocol === 'wss:' ? 'wss:' : 'ws:';
  return url;
}
