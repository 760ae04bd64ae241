/** One page of a list: elements sorted by a key, and an opaque token with the key after which the next page begins. */
import { UndecodableRequest, invalidArgument } from './failure.ts';

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
    throw new UndecodableRequest('query parameter pageSize');
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
 * @param sortedElements in ascending order of unique keys
 * @param maxSize maximum number of elements that the server allows
 */
export function pageOf<T>(
  sortedElements: readonly T[],
  keyOf: (element: T) => string,
  { size, token }: PageRequest,
  maxSize: number,
): Page<T> {
  if (size < 0) throw invalidArgument('Page size must be non-negative');
  if (size > maxSize) throw invalidArgument(`Page size must not exceed the server's maximum of ${maxSize}`);
  const afterKey = keyBehind(token);
  const count = size === 0 ? maxSize : size;
  const remainingElements =
    token === '' ? sortedElements : sortedElements.filter((element) => keyOf(element) > afterKey);
  const elements = remainingElements.slice(0, count);
  const last = elements.at(-1);
  return { elements, nextPageToken: last === undefined || elements.length < count ? '' : tokenOf(keyOf(last)) };
}
