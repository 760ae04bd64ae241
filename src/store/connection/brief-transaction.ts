/** Changes of tables and views in use: the indexer's writer queues behind a change that waits for a reader's lock. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { PoolClient } from 'pg';
import { IndexerError } from '../../errors/indexer-error.ts';
import type { Database } from './database.ts';

/** Of one attempt, while the writer waits as well; and between two, so that it stores what has come meanwhile. */
const lockTimeoutMs = 500;
const betweenMs = 1_000;
/** A statement of a reader may last so long, or its transaction: half a minute is waited for. */
const attempts = 20;

/**
 * `work` in a transaction that waits for each lock half a second at most, and is retried while somebody else has it.
 * @throws IndexerError STORE_LOCKED when it is still held after half a minute; what `work` throws
 */
export async function briefTransaction<T>(database: Database, work: (client: PoolClient) => Promise<T>): Promise<T> {
  for (let left = attempts - 1; ; left -= 1) {
    try {
      return await database.transaction(async (client) => {
        await client.query(`set local lock_timeout = ${String(lockTimeoutMs)}`);
        return work(client);
      });
    } catch (thrown) {
      if (left === 0 || !(thrown instanceof IndexerError) || thrown.code !== 'STORE_LOCKED') throw thrown;
      await sleep(betweenMs);
    }
  }
}
