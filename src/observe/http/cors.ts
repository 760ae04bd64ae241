/**
 * Pages of other origins: those that are named may read what applications read, and no others. What a browser sends by itself
 * (cookies, certificates) is never asked for, so the answer names one origin and no credentials.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';

/** For how long a browser need not ask again, seconds. */
const keptSeconds = 600;

/** Whether the request is one of a page that is named. */
export function isNamedOrigin({ headers }: IncomingMessage, origins: readonly string[]): boolean {
  return headers.origin !== undefined && origins.includes(headers.origin);
}

/** Says so in the headers of whatever is answered. @returns whether the request only asked for that, and is answered */
export function answerCors(request: IncomingMessage, response: ServerResponse, origins: readonly string[]): boolean {
  if (origins.length === 0) return false;
  // For other origins the answer is another one, also where this one is not named.
  response.setHeader('vary', 'Origin');
  const named = isNamedOrigin(request, origins);
  if (named) response.setHeader('access-control-allow-origin', request.headers.origin ?? '');
  if (!named || request.method !== 'OPTIONS' || request.headers['access-control-request-method'] === undefined) {
    return false;
  }
  response.writeHead(204, {
    'access-control-allow-methods': 'GET, HEAD',
    'access-control-allow-headers': 'authorization, last-event-id, cache-control',
    'access-control-max-age': String(keptSeconds),
  });
  response.end();
  return true;
}
