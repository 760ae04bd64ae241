/**
 * Reader tokens in one process. They are looked up on a connection that no page of changes uses, so that neither delays
 * the other.
 */
import { toIndexerError } from '../errors/indexer-error.ts';
import { ReaderTokens } from '../observe/http/reader-tokens.ts';
import type { Logger } from '../observe/log/logger.ts';
import type { PollIntervals } from '../config/pace.ts';
import type { Database } from '../store/connection/database.ts';
import { readTokens } from '../store/roles/reader-tokens.ts';
import { limitedRoles } from '../store/roles/secure-views.ts';
import { endExpiredLogins } from '../store/roles/token-logins.ts';

export interface ReaderTokenAccess {
  readonly tokens: ReaderTokens;
  /**
   * Roles that are limited to parties. They are read again when the last result is a few seconds old.
   * @throws if they were never read
   */
  readonly limitedRoles: () => Promise<readonly string[]>;
  readonly close: () => void;
}

/**
 * Prepares reader tokens. The database is read when a client sends a token, and at intervals to end the sessions of
 * expired tokens.
 * @param database closed by the caller
 */
export function openReaderTokens(
  database: Database,
  { tokensMs, expiredTokensMs }: PollIntervals,
  logger: Pick<Logger, 'warn'>,
): ReaderTokenAccess {
  const onFailing = (thrown: unknown): void =>
    logger.warn({ err: toIndexerError(thrown) }, 'reader tokens cannot be read: clients with a token get 503');
  const tokens = new ReaderTokens((hashes) => readTokens(database, hashes), tokensMs, onFailing);
  const stop = endSessions(database, expiredTokensMs);
  return {
    tokens,
    limitedRoles: lastRead(() => database.withClient((client) => limitedRoles(client, database.schema)), tokensMs),
    close: () => {
      stop();
      tokens.close();
    },
  };
}

/** Ends the sessions of expired tokens at intervals. @returns a function that stops this */
function endSessions(database: Database, everyMs: number): () => void {
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;
  const schedule = (ms: number): void => {
    if (!isStopped) timer = setTimeout(() => void end(), Math.min(Math.max(ms, 0), everyMs)).unref();
  };
  const end = async (): Promise<void> => {
    // If the database does not respond, those sessions are ended at the next attempt.
    const next = await endExpiredLogins(database).catch(() => undefined);
    schedule(next ?? everyMs);
  };
  schedule(everyMs);
  return () => {
    isStopped = true;
    clearTimeout(timer);
  };
}

/** Caches the last result of `read` for `maxAgeMs`, and longer while it cannot be read. Only one read is active. */
export function lastRead<T>(load: () => Promise<T>, maxAgeMs: number): () => Promise<T> {
  let last: { readonly value: T; readonly at: number } | undefined;
  let pendingRead: Promise<T> | undefined;
  const refresh = async (): Promise<T> => {
    try {
      last = { value: await load(), at: performance.now() };
    } catch (thrown) {
      if (last === undefined) throw thrown;
    } finally {
      pendingRead = undefined;
    }
    return last.value;
  };
  return () => {
    if (last !== undefined && performance.now() - last.at < maxAgeMs) return Promise.resolve(last.value);
    return (pendingRead ??= refresh());
  };
}
