/**
 * The access token: where it comes from, whether it is well formed, and where it may travel. The token itself never
 * appears in an error, a fact or a log line.
 */
import { readFile } from 'node:fs/promises';
import { isIPv4 } from 'node:net';
import { ledgerError } from './ledger-error-codes.ts';

export interface TokenSource {
  /** The token to use for the next connection; undefined when none is configured. Throws IndexerError. */
  read(): Promise<string | undefined>;
}

export interface TokenSourceOptions {
  readonly token?: string | undefined;
  /** Wins over `token`. */
  readonly tokenFile?: string | undefined;
}

/** What both an HTTP header and a WebSocket subprotocol can carry: the `token` rule of RFC 9110. */
const legalToken = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/u;

function assertWellFormed(token: string, origin: string): string {
  if (legalToken.test(token)) return token;
  throw ledgerError(
    'LEDGER_TOKEN_MALFORMED',
    `the token from ${origin} has characters that neither a header nor a subprotocol can carry`,
    { facts: { length: token.length } },
  );
}

/** The trimmed content of the file; undefined while it is empty or missing, which a rotation may cause for a moment. */
async function readTokenFile(path: string): Promise<{ token: string | undefined; cause?: unknown }> {
  try {
    const token = (await readFile(path, 'utf8')).trim();
    return { token: token === '' ? undefined : token };
  } catch (cause) {
    return { token: undefined, cause };
  }
}

/**
 * A token source over a fixed token or a file that something else renews. The file is read again at each call; while
 * it is empty or missing the last good token stays in use.
 */
export function createTokenSource({ token, tokenFile }: TokenSourceOptions): TokenSource {
  let last: string | undefined;
  const fromFile = async (path: string): Promise<string> => {
    const found = await readTokenFile(path);
    if (found.token !== undefined) last = assertWellFormed(found.token, 'the token file');
    if (last !== undefined) return last;
    const state = found.cause === undefined ? 'is empty' : 'cannot be read';
    throw ledgerError('LEDGER_TOKEN_UNREADABLE', `the token file ${path} ${state}`, { cause: found.cause });
  };
  return {
    async read() {
      if (tokenFile !== undefined) return await fromFile(tokenFile);
      const fixed = token?.trim() ?? '';
      return fixed === '' ? undefined : assertWellFormed(fixed, 'the configuration');
    },
  };
}

function isLoopback(hostname: string): boolean {
  if (hostname === 'localhost' || hostname.endsWith('.localhost') || hostname === '[::1]') return true;
  // Only a literal address counts: 127.example.org is somebody else's machine.
  return isIPv4(hostname) && hostname.startsWith('127.');
}

/**
 * Refuses to send a token in clear text over a network.
 * @throws IndexerError LEDGER_TOKEN_INSECURE (fatal) for plain http to a host that is not this machine
 */
export function assertTokenMayTravel(url: string, token: string | undefined, insecure: boolean): void {
  if (token === undefined || insecure) return;
  const { protocol, hostname, host } = new URL(url);
  if (protocol === 'https:' || protocol === 'wss:' || isLoopback(hostname)) return;
  throw ledgerError('LEDGER_TOKEN_INSECURE', `will not send the token in clear text to ${host}`, { facts: { host } });
}

/** The `exp` claim in seconds since 1970; undefined when the token is not a JWT or has none. Nothing is verified. */
export function tokenExpiry(jwt: string): number | undefined {
  const payload = jwt.split('.')[1];
  if (payload === undefined) return undefined;
  try {
    const claims: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'));
    if (typeof claims !== 'object' || claims === null || !('exp' in claims)) return undefined;
    return typeof claims.exp === 'number' && Number.isFinite(claims.exp) ? claims.exp : undefined;
  } catch {
    return undefined;
  }
}
