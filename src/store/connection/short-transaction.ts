/** Transactions that give way to other sessions: whoever queues behind one that waits for a lock waits as long as it does. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { PoolClient } from 'pg';
import { IndexerError } from '../../errors/indexer-error.ts';
import type { Database } from './database.ts';

interface GivingWay {
  /** Longest wait for one lock. */
  readonly lockTimeoutMs: number;
  readonly attempts: number;
  /** Before the next attempt, after so many. */
  readonly pauseMs: (attempt: number) => number;
  readonly isRetried: (error: IndexerError) => boolean;
}

/** For rows: of prune, redact and holds. */
const ofRows: GivingWay = {
  lockTimeoutMs: 2_000,
  attempts: 5,
  pauseMs: (attempt) => attempt * 300,
  isRetried: ({ retry }) => retry === 'retry',
};

/**
 * For changes of tables and views in use. The writer queues behind them, and stores between two attempts; the transaction of a
 * reader is waited for up to half a minute.
 */
const ofTables: GivingWay = {
  lockTimeoutMs: 500,
  attempts: 20,
  pauseMs: () => 1_000,
  isRetried: ({ code }) => code === 'STORE_LOCKED',
};

/** @throws IndexerError of the last attempt; what `work` throws */
async function givingWay<T>(
  database: Database,
  { lockTimeoutMs, attempts, pauseMs, isRetried }: GivingWay,
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

/** `work` on rows. It waits two seconds for a lock at most, five times. @throws IndexerError of the last attempt */
export function shortTransaction<T>(database: Database, work: (client: PoolClient) => Promise<T>): Promise<T> {
  return givingWay(database, ofRows, work);
}

/** `work` on tables and views. It waits half a second for a lock at most, twenty times. @throws IndexerError STORE_LOCKED then */
export function shortChange<T>(database: Database, work: (client: PoolClient) => Promise<T>): Promise<T> {
  return givingWay(database, ofTables, work);
}
