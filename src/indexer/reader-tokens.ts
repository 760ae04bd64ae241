/** Tokens of readers in one process: looked up on a connection of their own, so that no page that is read keeps them waiting. */
import type { Config } from '../config/config.ts';
import { toIndexerError } from '../errors/indexer-error.ts';
import { ReaderTokens } from '../observe/http/reader-tokens.ts';
import type { Logger } from '../observe/log/logger.ts';
import type { Pace } from '../config/pace.ts';
import { openDatabase, type Database } from '../store/connection/database.ts';
import { readTokens } from '../store/roles/reader-tokens.ts';
import { limitedRoles } from '../store/roles/secure-views.ts';
import { endExpiredLogins } from '../store/roles/token-logins.ts';

/** A look at a handful of rows; with the time between two of them it is less than five seconds. */
const statementTimeoutMs = 2_000;

export interface OpenTokens {
  readonly tokens: ReaderTokens;
  /** Roles that are limited to parties, read again when the last answer is a few seconds old. @throws if none was ever read */
  readonly limitedRoles: () => Promise<readonly string[]>;
  readonly close: (limitMs?: number) => Promise<void>;
}

/** Prepares it; connects when a client shows a token, and to end the sessions of tokens that expired. */
export function openReaderTokens(
  { database: { schema, urlFile } }: Config,
  url: string,
  { tokensMs, expiredTokensMs }: Pace,
  logger: Pick<Logger, 'warn'>,
): OpenTokens {
  const applicationName = 'ledger-indexer tokens';
  const database = openDatabase({ url, urlFile, schema, statementTimeoutMs, applicationName, maxConnections: 1 });
  const onFailing = (thrown: unknown): void =>
    logger.warn({ err: toIndexerError(thrown) }, 'reader tokens cannot be read: clients with a token get 503');
  const tokens = new ReaderTokens((hashes) => readTokens(database, hashes), tokensMs, onFailing);
  const stop = endSessions(database, expiredTokensMs);
  return {
    tokens,
    limitedRoles: lastRead(() => database.withClient((client) => limitedRoles(client, schema)), tokensMs),
    close: (limitMs) => {
      stop();
      tokens.close();
      return database.close(limitMs);
    },
  };
}

/** @returns stops it */
function endSessions(database: Database, everyMs: number): () => void {
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  const later = (ms: number): void => {
    if (!stopped) timer = setTimeout(() => void end(), Math.min(Math.max(ms, 0), everyMs)).unref();
  };
  const end = async (): Promise<void> => {
    // If the database does not answer, those sessions are ended the next time.
    const next = await endExpiredLogins(database).catch(() => undefined);
    later(next ?? everyMs);
  };
  later(everyMs);
  return () => {
    stopped = true;
    clearTimeout(timer);
  };
}

/** What was read last, if it is not older than that or cannot be read now; one read at a time. */
function lastRead<T>(read: () => Promise<T>, forMs: number): () => Promise<T> {
  let last: { readonly value: T; readonly at: number } | undefined;
  let reading: Promise<T> | undefined;
  const again = async (): Promise<T> => {
    try {
      last = { value: await read(), at: performance.now() };
    } catch (thrown) {
      if (last === undefined) throw thrown;
    } finally {
      reading = undefined;
    }
    return last.value;
  };
  return () => {
    if (last !== undefined && performance.now() - last.at < forMs) return Promise.resolve(last.value);
    return (reading ??= again());
  };
}
