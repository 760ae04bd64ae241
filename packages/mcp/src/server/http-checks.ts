/** Checks of a request before it is read. */
import { isIP } from 'node:net';
import type { IncomingMessage } from 'node:http';
import type { HttpOptions } from '../indexer/configuration.ts';
import { isLoopback } from '../indexer/loopback.ts';
import { isToken } from '../indexer/token.ts';

export interface Refusal {
  readonly status: number;
  readonly error: string;
}

/** The token of the header Authorization; undefined if there is none, or if it cannot be a token. */
export function tokenOfHeader(header: string | undefined): string | undefined {
  const [, token = ''] = /^bearer +(\S+) *$/i.exec(header ?? '') ?? [];
  return isToken(token) ? token : undefined;
}

/** The reason to refuse a request; undefined if there is none. */
export function refusalReason(
  { url = '', headers }: Pick<IncomingMessage, 'url' | 'headers'>,
  options: HttpOptions,
  token: string | undefined,
): Refusal | undefined {
  const { host = '', origin } = headers;
  // A web page can point its own name to this machine, and the browser would then let it read responses.
  if (!isAllowedHost(host, options)) {
    return { status: 421, error: 'the host name is not accepted: add it to MCP_ALLOWED_HOSTS' };
  }
  if (origin !== undefined && !options.allowedOrigins.includes(origin)) {
    return { status: 403, error: 'requests of this web origin are refused: add it to MCP_ALLOWED_ORIGINS' };
  }
  if (url.split('?')[0] !== '/mcp') return { status: 404, error: 'not found; the path is /mcp' };
  if (token === undefined) {
    return { status: 401, error: 'send a reader token, or a token of the participant, as Authorization: Bearer TOKEN' };
  }
  return undefined;
}

/** Accepts addresses, because a page has a name: only a name can be pointed to another machine. */
function isAllowedHost(host: string, { host: listenHost, allowedHosts }: HttpOptions): boolean {
  const name = host.replace(/:\d*$/, '').toLowerCase();
  const isAddress = isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0;
  return isAddress || isLoopback(name) || name === listenHost.toLowerCase() || allowedHosts.includes(name);
}
