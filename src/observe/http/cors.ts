/**
 * Handles CORS. Only pages of configured origins may read the endpoints for applications. Credentials that browsers
 * send automatically (cookies, certificates) are never used, so responses do not allow them. A response names only one
 * origin.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';

/** Time for which a browser may cache the preflight response, seconds. */
const preflightMaxAgeSeconds = 600;

/** Whether the request comes from a page of a configured origin. */
export function isNamedOrigin({ headers }: IncomingMessage, origins: readonly string[]): boolean {
  return headers.origin !== undefined && origins.includes(headers.origin);
}

/**
 * Sets the CORS headers of a response. @returns true if the request was a preflight request; the response was then sent
 * here
 */
export function handleCors(request: IncomingMessage, response: ServerResponse, origins: readonly string[]): boolean {
  if (origins.length === 0) return false;
  // The response depends on the origin, even if this origin is not configured.
  response.setHeader('vary', 'Origin');
  const isAllowedOrigin = isNamedOrigin(request, origins);
  if (isAllowedOrigin) response.setHeader('access-control-allow-origin', request.headers.origin ?? '');
  if (
    !isAllowedOrigin ||
    request.method !== 'OPTIONS' ||
    request.headers['access-control-request-method'] === undefined
  ) {
    return false;
  }
  response.writeHead(204, {
    'access-control-allow-methods': 'GET, HEAD',
    'access-control-allow-headers': 'authorization, last-event-id, cache-control',
    'access-control-max-age': String(preflightMaxAgeSeconds),
  });
  response.end();
  return true;
}
