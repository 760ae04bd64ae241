/** One page of a list: elements sorted by a key, and an opaque token with the key after which the next page begins. */
import { Undecodable, invalidArgument } from './failure.ts';

export interface PageRequest {
  /** Maximum number of elements; 0 for as many as the server allows. */
  readonly size: number;
  /** The token of an earlier page; empty to begin. */
  readonly token: string;
}

export interface Page<T> {
  readonly elements: readonly T[];
  /** Empty if the page contains the last element. */
  readonly nextPageToken: string;
}

/** `pageSize` and `pageToken` of a query. Throws Undecodable for a size that is not an int32. */
export function pageRequestOf(query: URLSearchParams): PageRequest {
  const size = query.get('pageSize') ?? '0';
  if (!/^-?\d{1,10}$/.test(size) || Math.abs(Number(size)) >= 2 ** 31)
    throw new Undecodable('query parameter pageSize');
  return { size: Number(size), token: query.get('pageToken') ?? '' };
}

function keyBehind(token: string): string {
  const key = Buffer.from(token, 'base64url').toString();
  if (tokenOf(key) === token) return key;
  throw invalidArgument('Invalid page token');
}

function tokenOf(key: string): string {
  return Buffer.from(key).toString('base64url');
}

/**
 * The requested page. As on the participant, a page that is exactly full is followed by another one, even if that is
 * empty. Throws INVALID_ARGUMENT for a size out of range, or a token that no page returned.
 * @param sorted in ascending order of unique keys
 * @param most maximum number of elements that the server allows
 */
export function pageOf<T>(
  sorted: readonly T[],
  keyOf: (element: T) => string,
  { size, token }: PageRequest,
  most: number,
): Page<T> {
  if (size < 0) throw invalidArgument('Page size must be non-negative');
  if (size > most) throw invalidArgument(`Page size must not exceed the server's maximum of ${most}`);
  const after = keyBehind(token);
  const count = size === 0 ? most : size;
  const rest = token === '' ? sorted : sorted.filter((element) => keyOf(element) > after);
  const elements = rest.slice(0, count);
  const last = elements.at(-1);
  return { elements, nextPageToken: last === undefined || elements.length < count ? '' : tokenOf(keyOf(last)) };
}
