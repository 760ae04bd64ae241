/**
 * Callers that may read contents without a token: programs on this machine and, in browsers, only a page that this
 * server sent. The reasons for a refusal are sent to the caller.
 */
import type { IncomingMessage } from 'node:http';
import { isLoopback } from '../../config/loopback.ts';

/**
 * Headers that browsers, command-line clients, HTTP libraries and scrapers send automatically. Any other header may
 * have been added by a proxy, and the caller may then be on another machine. Allowed headers are listed because a list
 * of all headers that proxies add would never be complete.
 */
const direct: ReadonlySet<string> = new Set(
  [
    'accept accept-charset accept-encoding accept-language authorization cache-control connection content-length content-type',
    'cookie dnt expect host if-match if-modified-since if-none-match if-range if-unmodified-since keep-alive last-event-id',
    'origin postman-token pragma priority purpose range referer save-data te transfer-encoding upgrade-insecure-requests',
    'user-agent x-requested-with',
    // curl and Java clients offer HTTP/2 on the same connection.
    'http2-settings upgrade',
    'access-control-request-headers access-control-request-method access-control-request-private-network',
    'x-prometheus-scrape-timeout-seconds',
    // Instrumented programs send their own headers.
    'baggage traceparent tracestate',
  ].flatMap((names) => names.split(' ')),
);
/** Headers of browsers. No page and no form can set them. */
const browserHeader = /^sec-(?:fetch|ch|gpc|purpose)(?:-|$)/;

function foreignHeader({ headers }: IncomingMessage): string | undefined {
  return Object.keys(headers).find((name) => !direct.has(name) && !browserHeader.test(name));
}

/**
 * The reason why this request may not come from this machine. Undefined if it comes from this machine. The address of
 * the caller must be a loopback address. The host name of the request must be a loopback name, because DNS rebinding
 * uses other names that resolve to this machine. No proxy may be in between.
 */
export function remoteCallerReason(request: IncomingMessage): string | undefined {
  const { headers, socket, httpVersion } = request;
  if (!isLoopbackAddress(socket.remoteAddress)) return 'only requests from this machine are accepted';
  if (!isLoopback(hostnameOf(headers.host))) return 'the host name of the request is not localhost or 127.0.0.1';
  // HTTP/1.0 is a sign of a proxy that adds no header. No browser uses HTTP/1.0.
  const foreignSign = httpVersion === '1.1' ? foreignHeader(request) : `HTTP/${httpVersion}`;
  if (foreignSign === undefined) return undefined;
  return `the request came through a proxy, or the client sends unexpected headers ("${foreignSign.slice(0, 40)}"): only requests from this machine are accepted`;
}

/**
 * The reason why a request from this machine may come from a third-party page. This is possible because a browser sends
 * any request that a page makes. Undefined if the page was sent by this server. A form cannot send a POST with JSON,
 * and a page of another origin would need a CORS preflight, which is never granted.
 */
export function notOfOurPage({ headers }: IncomingMessage): string | undefined {
  if (headers['content-type'] !== 'application/json')
    return 'send the query as JSON, with content-type application/json';
  if (headers.origin !== `http://${headers.host ?? ''}`) return 'the origin must be this page';
  const fetchSite = headers['sec-fetch-site'] ?? 'same-origin';
  return fetchSite === 'same-origin' ? undefined : 'the origin must be this page';
}

/**
 * The reason to refuse a request that a page of another origin sent from this machine. Undefined if there is none. The
 * browser sends such a request and hides the response from the page, but a stream would still be opened.
 */
export function foreignOriginReason({ headers }: IncomingMessage): string | undefined {
  const { host = '', origin = `http://${host}` } = headers;
  const fetchSite = headers['sec-fetch-site'] ?? 'none';
  const isSameOrigin = origin === `http://${host}` && (fetchSite === 'none' || fetchSite === 'same-origin');
  return isSameOrigin ? undefined : 'requests from pages of other origins are refused';
}

function isLoopbackAddress(address = ''): boolean {
  const ipv4Address = address.replace(/^::ffff:/, '');
  return ipv4Address === '::1' || isLoopback(ipv4Address);
}

function hostnameOf(host = ''): string {
  return host.replace(/:\d*$/, '').toLowerCase();
}
