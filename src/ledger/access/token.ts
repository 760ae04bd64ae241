/**
 * Reads the access token, checks that it is well formed, and checks where it may be sent. The token itself never
 * appears in an error, a fact or a log line.
 */
import { once } from 'node:events';
import { pause } from '../../config/pause.ts';
import { toIndexerError, type IndexerError } from '../../errors/indexer-error.ts';
import { isPlaintextRemote } from '../../config/loopback.ts';
import { readSmallFile, unreadableReason } from '../../config/small-file.ts';
import { ledgerError } from '../errors/make-ledger-error.ts';
import { leaseOfStoredToken, type TokenLease } from './token-lifetime.ts';

/** The token that a stream is opened with. */
export interface AccessToken extends TokenLease {
  /** Why there is no newer token although one is due. The old one is still valid. */
  readonly problem?: IndexerError | undefined;
}

export interface TokenSource {
  /**
   * The token for one call, or undefined if no token is configured. Waits for a new token only if there is no valid
   * one.
   */
  read(): Promise<string | undefined>;
  /**
   * The token for a stream, with its lifetime. At `renewAt` or later this requests a newer token. If there is no newer
   * token yet, it returns the old token with a later `renewAt`.
   */
  lease(): Promise<AccessToken | undefined>;
  /** Called when the ledger refused the token. That token is not returned again if another token is available. */
  invalidate(): void;
  /**
   * Resolves when another program has replaced the last returned token, or when `signal` is aborted. If only this
   * program or a restart can replace the token, it resolves only when `signal` is aborted.
   */
  replaced(signal: AbortSignal): Promise<void>;
}

export interface TokenSourceOptions {
  readonly token?: string | undefined;
  /** Takes precedence over `token`. */
  readonly tokenFile?: string | undefined;
}

/**
 * Interval at which a token file is read while its token is due for renewal, milliseconds. The file is read, not
 * watched, because a replaced symbolic link or a file on another machine sends no notification.
 */
const fileCheckMs = 1_000;
/** Minimum of this interval, even if the token expires very soon. */
const shortestFileCheckMs = 200;

/** Characters that both an HTTP header and a WebSocket subprotocol can carry: the `token` rule of RFC 9110. */
const tokenPattern = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/u;

/** @throws IndexerError LEDGER_TOKEN_MALFORMED, without the token */
export function assertWellFormed(token: string, origin: string): string {
  if (tokenPattern.test(token)) return token;
  throw ledgerError(
    'LEDGER_TOKEN_MALFORMED',
    `the token from ${origin} has characters that neither a header nor a subprotocol can carry`,
    { facts: { length: token.length } },
  );
}

/**
 * The trimmed content of the file. Undefined while the file is empty or missing, which may happen briefly while the
 * file is replaced.
 */
export async function readTokenFile(path: string): Promise<{ token: string | undefined; cause?: unknown }> {
  try {
    const token = (await readSmallFile(path)).trim();
    return { token: token === '' ? undefined : token };
  } catch (cause) {
    return { token: undefined, cause };
  }
}

function fileSource(path: string): TokenSource {
  let last: TokenLease | undefined;
  let isRejected = false;
  /** Content of the file at the last read, valid or not. */
  let lastToken: string | undefined;
  const lease = async (): Promise<AccessToken> => {
    const tokenText = await readTokenFile(path);
    lastToken = tokenText.token ?? lastToken;
    if (tokenText.token !== undefined && tokenText.token !== last?.token) {
      const problem = malformed(tokenText.token);
      if (problem !== undefined) return lastValidToken(isRejected ? undefined : last, problem);
      last = leaseOfStoredToken(tokenText.token, performance.now());
      isRejected = false;
    }
    if (last !== undefined) return leaseWithRecheck(last);
    const state = tokenText.cause === undefined ? 'is empty' : `cannot be read (${unreadableReason(tokenText.cause)})`;
    throw ledgerError('LEDGER_TOKEN_UNREADABLE', `the token file ${path} ${state}`, { cause: tokenText.cause });
  };
  const invalidateToken = (): void => {
    isRejected = true;
  };
  const waitForReplacement = async (signal: AbortSignal): Promise<void> => {
    const before = lastToken;
    while (!signal.aborted) {
      const { token = before } = await readTokenFile(path);
      if (token !== before) return;
      await pause(fileCheckMs, signal);
    }
  };
  return { lease, read: async () => (await lease()).token, invalidate: invalidateToken, replaced: waitForReplacement };
}

/** Why the token in the file is malformed; undefined if it is well formed. */
function malformed(token: string): IndexerError | undefined {
  try {
    assertWellFormed(token, 'the token file');
    return undefined;
  } catch (thrown) {
    return toIndexerError(thrown);
  }
}

/**
 * Returns the last good token until it expires.
 * @throws the problem if there is no good token, or the ledger refused it
 */
function lastValidToken(last: TokenLease | undefined, problem: IndexerError): AccessToken {
  if (last === undefined || performance.now() >= (last.endsAt ?? Number.POSITIVE_INFINITY)) throw problem;
  return { ...leaseWithRecheck(last), problem };
}

/**
 * If the file is renewed late, it is read again soon. The interval is shorter if the lifetime of the token is shorter.
 */
function leaseWithRecheck(lease: TokenLease): TokenLease {
  const { renewAt, endsAt } = lease;
  const now = performance.now();
  if (renewAt === undefined || endsAt === undefined || now < renewAt) return lease;
  return { ...lease, renewAt: now + Math.min(fileCheckMs, Math.max(shortestFileCheckMs, (endsAt - renewAt) / 2)) };
}

function fixedTokenSource(configuredToken: string | undefined): TokenSource {
  const token = configuredToken?.trim() ?? '';
  let fixedLease: TokenLease | undefined;
  const lease = (): AccessToken | undefined => {
    if (token === '') return undefined;
    // A configured token can be replaced only by a restart, so no renewal time is set.
    fixedLease ??= {
      ...leaseOfStoredToken(assertWellFormed(token, 'the configuration'), performance.now()),
      renewAt: undefined,
    };
    return fixedLease;
  };
  return {
    // This is an async function, so that a malformed token causes a rejection, as with every other source.
    lease: async () => await Promise.resolve(lease()),
    read: async () => await Promise.resolve(lease()?.token),
    invalidate: () => undefined,
    replaced: waitForAbort,
  };
}

/** Used by sources whose token no other program replaces. */
export async function waitForAbort(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort');
}

/**
 * A token source for a fixed token, or for a file that another program renews. The file is read again at each call.
 * While the file is empty or missing, the last good token is used. While its content is not a token, the last good
 * token is used until it expires.
 */
export function createTokenSource({ token, tokenFile }: TokenSourceOptions): TokenSource {
  return tokenFile === undefined ? fixedTokenSource(token) : fileSource(tokenFile);
}

/**
 * Refuses to send a token in clear text over a network.
 * @throws IndexerError LEDGER_TOKEN_INSECURE (fatal) for plain http to another machine
 */
export function assertTokenConfidential(url: string, token: string | undefined, insecure: boolean): void {
  if (token === undefined || insecure || !isPlaintextRemote(url)) return;
  const { host } = new URL(url);
  throw ledgerError('LEDGER_TOKEN_INSECURE', `will not send the token in clear text to ${host}`, { facts: { host } });
}
