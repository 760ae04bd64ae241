/**
 * Transactions that wait only briefly for a lock. While a transaction waits for a lock, sessions that need the same
 * lock queue behind it and wait just as long.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { PoolClient } from 'pg';
import { IndexerError } from '../../errors/indexer-error.ts';
import type { Database } from './database.ts';

interface LockRetryLimits {
  /** Maximum wait for one lock, milliseconds. */
  readonly lockTimeoutMs: number;
  readonly attempts: number;
  /** Pause before the next attempt, by the number of attempts so far. */
  readonly pauseMs: (attempt: number) => number;
  readonly isRetried: (error: IndexerError) => boolean;
}

/** For changes of rows: prune, redact and holds. */
const rowLockLimits: LockRetryLimits = {
  lockTimeoutMs: 2_000,
  attempts: 5,
  pauseMs: (attempt) => attempt * 300,
  isRetried: ({ retry }) => retry === 'retry',
};

/**
 * For changes of tables and views in use. While such a change waits for its lock, the writer waits behind it. The
 * writer continues between two attempts. All attempts together wait up to half a minute for a reader's transaction.
 */
const tableLockLimits: LockRetryLimits = {
  lockTimeoutMs: 500,
  attempts: 20,
  pauseMs: () => 1_000,
  isRetried: ({ code }) => code === 'STORE_LOCKED' || code === 'STORE_CONFLICT',
};

/** @throws IndexerError of the last attempt; any error of `work` */
async function withLockRetries<T>(
  database: Database,
  { lockTimeoutMs, attempts, pauseMs, isRetried }: LockRetryLimits,
  work: (client: PoolClient) => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await database.transaction(async (client) => {
        await client.query(`set local lock_timeout = ${String(lockTimeoutMs)}`);
        return work(client);
      });
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
  return withLockRetries(database, rowLockLimits, work);
}

/**
 * Runs `work` on tables and views. Waits at most half a second for a lock, and tries twenty times.
 * @throws IndexerError STORE_LOCKED or STORE_CONFLICT after the last attempt
 */
export function shortChange<T>(database: Database, work: (client: PoolClient) => Promise<T>): Promise<T> {
  return withLockRetries(database, tableLockLimits, work);
}
