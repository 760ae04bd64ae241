/**
 * Transactions that wait only briefly for a lock. While a transaction waits for a lock, sessions that need the same
 * lock queue behind it and wait just as long.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { PoolClient } from 'pg';
import { IndexerError } from '../../errors/indexer-error.ts';
import type { Database } from './database.ts';

interface LockRetryLimits {
  /** Maximum wait for one lock, milliseconds, by the number of the attempt. */
  readonly lockTimeoutMs: (attempt: number) => number;
  readonly attempts: number;
  /** Pause before the next attempt, by the number of attempts so far. */
  readonly pauseMs: (attempt: number) => number;
  readonly isRetried: (error: IndexerError) => boolean;
}

/** For changes of rows: prune, redact and holds. */
const rowLockLimits: LockRetryLimits = {
  lockTimeoutMs: () => 2_000,
  attempts: 5,
  pauseMs: (attempt) => attempt * 300,
  isRetried: ({ retry }) => retry === 'retry',
};

/**
 * For changes of tables and views in use. While such a change waits for its lock, the writer waits behind it. The
 * writer continues between two attempts. All attempts together wait up to half a minute for a reader's transaction.
 */
const tableLockLimits: LockRetryLimits = {
  lockTimeoutMs: () => 500,
  attempts: 20,
  pauseMs: () => 1_000,
  isRetried: ({ code }) => code === 'STORE_LOCKED' || code === 'STORE_CONFLICT',
};

/**
 * For migrations. Every fourth attempt waits for more than a second, because only then does Postgres cancel an
 * autovacuum of the table (`deadlock_timeout`). Between the attempts, readers and the writer continue.
 */
const migrationLimits: LockRetryLimits = {
  ...tableLockLimits,
  lockTimeoutMs: (attempt) => (attempt % 4 === 0 ? 1_300 : 500),
  attempts: 40,
};

/** @throws IndexerError of the last attempt; any error of `work` */
async function withLockRetries<T>(
  database: Database,
  { lockTimeoutMs, attempts, pauseMs, isRetried }: LockRetryLimits,
  work: (client: PoolClient, setLockTimeout: () => Promise<void>) => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await database.transaction((client) =>
        work(client, async () => {
          await client.query(`set local lock_timeout = ${String(lockTimeoutMs(attempt))}`);
        }),
      );
    } catch (thrown) {
      if (attempt === attempts || !(thrown instanceof IndexerError) || !isRetried(thrown)) throw thrown;
      await sleep(pauseMs(attempt));
    }
  }
}

/**
 * Runs `work` on rows. Waits at most two seconds for a lock, and tries five times.
 * @throws IndexerError of the last attempt
 */
export function shortTransaction<T>(database: Database, work: (client: PoolClient) => Promise<T>): Promise<T> {
  return withLockRetries(database, rowLockLimits, limitedFromTheStart(work));
}

/**
 * Runs `work` on tables and views. Waits at most half a second for a lock, and tries twenty times.
 * @throws IndexerError STORE_LOCKED or STORE_CONFLICT after the last attempt
 */
export function shortChange<T>(database: Database, work: (client: PoolClient) => Promise<T>): Promise<T> {
  return withLockRetries(database, tableLockLimits, limitedFromTheStart(work));
}

/**
 * Runs one step of a migration. `begin` waits for other migrators without a short limit; after it, the step waits for
 * each lock half a second, and is repeated up to forty times.
 * @throws IndexerError of `begin`; STORE_LOCKED or STORE_CONFLICT after the last attempt
 */
export function migrationStep<T>(
  database: Database,
  begin: (client: PoolClient) => Promise<void>,
  work: (client: PoolClient) => Promise<T>,
): Promise<T> {
  let hasBegun = false;
  const isRetried = (error: IndexerError): boolean => hasBegun && migrationLimits.isRetried(error);
  return withLockRetries(database, { ...migrationLimits, isRetried }, async (client, setLockTimeout) => {
    hasBegun = false;
    await begin(client);
    hasBegun = true;
    await setLockTimeout();
    return work(client);
  });
}

function limitedFromTheStart<T>(work: (client: PoolClient) => Promise<T>) {
  return async (client: PoolClient, setLockTimeout: () => Promise<void>): Promise<T> => {
    await setLockTimeout();
    return work(client);
  };
}
