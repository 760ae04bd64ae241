/**
 * Who may ask for contents without a password: a program of this machine, and of browsers only a page that we served ourselves.
 * Reasons are for the person who asks.
 */
import type { IncomingMessage } from 'node:http';
import { isLoopback } from '../../config/loopback.ts';

/**
 * Headers that browsers, command lines, HTTP libraries and scrapers send by themselves. Any other one may come from a proxy, and then the
 * caller is on another machine: no list of the headers that proxies add is complete.
 */
const direct: ReadonlySet<string> = new Set(
  [
    'accept accept-charset accept-encoding accept-language authorization cache-control connection content-length content-type',
    'cookie dnt expect host if-match if-modified-since if-none-match if-range if-unmodified-since keep-alive last-event-id',
    'origin postman-token pragma priority purpose range referer save-data te transfer-encoding upgrade-insecure-requests',
    'user-agent x-requested-with',
    // HTTP/2 on the same connection is asked for by curl and by clients in Java.
    'http2-settings upgrade',
    'access-control-request-headers access-control-request-method access-control-request-private-network',
    'x-prometheus-scrape-timeout-seconds',
    // Instrumented programs send their own.
    'baggage traceparent tracestate',
  ].flatMap((names) => names.split(' ')),
);
/** Of browsers. No page and no form can set them. */
const ofBrowsers = /^sec-(?:fetch|ch|gpc|purpose)(?:-|$)/;

function foreignHeader({ headers }: IncomingMessage): string | undefined {
  return Object.keys(headers).find((name) => !direct.has(name) && !ofBrowsers.test(name));
}

/**
 * Why this request is not one of this machine; undefined: it is. The address has to be one of loopback, and so has the name that
 * was asked: a name that leads here is what a page of a stranger has (DNS rebinding). No proxy may stand in between.
 */
export function notFromHere(request: IncomingMessage): string | undefined {
  const { headers, socket, httpVersion } = request;
  if (!isLoopbackAddress(socket.remoteAddress)) return 'only this machine is answered here';
  if (!isLoopback(hostnameOf(headers.host))) return 'asked by a name that is not localhost or 127.0.0.1';
  // Proxies that say nothing of themselves ask by HTTP/1.0, which no browser speaks.
  const sign = httpVersion === '1.1' ? foreignHeader(request) : `HTTP/${httpVersion}`;
  if (sign === undefined) return undefined;
  return `a proxy stands in between, or the client sends more than needed ("${sign.slice(0, 40)}"): only this machine is answered here`;
}

/**
 * Why a request from here may still be a stranger's: a browser sends whatever a page of anybody makes it send. Undefined: the
 * page was ours. A POST of JSON cannot be made by a form, and another origin would have to ask first, which nobody answers.
 */
export function notOfOurPage({ headers }: IncomingMessage): string | undefined {
  if (headers['content-type'] !== 'application/json') return 'a question is JSON: content-type application/json';
  if (headers.origin !== `http://${headers.host ?? ''}`) return 'the origin has to be this page';
  const site = headers['sec-fetch-site'] ?? 'same-origin';
  return site === 'same-origin' ? undefined : 'the origin has to be this page';
}

/**
 * Why a request from here is made by a page of another origin, which a browser sends and whose answer it then withholds: it would
 * still cost us a stream. Undefined: it is not.
 */
export function ofAnotherOrigin({ headers }: IncomingMessage): string | undefined {
  const { host = '', origin = `http://${host}` } = headers;
  const site = headers['sec-fetch-site'] ?? 'none';
  const isOurs = origin === `http://${host}` && (site === 'none' || site === 'same-origin');
  return isOurs ? undefined : 'pages of other origins are not answered here';
}

function isLoopbackAddress(address = ''): boolean {
  const bare = address.replace(/^::ffff:/, '');
  return bare === '::1' || isLoopback(bare);
}

function hostnameOf(host = ''): string {
  return host.replace(/:\d*$/, '').toLowerCase();
}
