/** How prune and redact talk to Postgres: short transactions that give way to everybody else, and try again. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { PoolClient } from 'pg';
import { IndexerError } from '../../errors/indexer-error.ts';
import type { Database } from '../connection/database.ts';
import { reportPlanning } from '../connection/report-planning.ts';

const attempts = 5;

/**
 * `work` in a transaction that waits two seconds for a lock at most, so that whoever queues behind it does not wait
 * longer. Tried again when Postgres says that it may be.
 * @throws IndexerError the last one
 */
export async function shortTransaction<T>(database: Database, work: (client: PoolClient) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await database.transaction(async (client) => {
        await client.query(`set local lock_timeout = '2s'`);
        return work(client);
      });
    } catch (thrown) {
      if (attempt === attempts || !(thrown instanceof IndexerError) || thrown.retry !== 'retry') throw thrown;
      await sleep(attempt * 300);
    }
  }
}

/** Statements that read whole tables: the settings of the writer's sessions, made for few rows, would take for ever. */
export function reading<T>(database: Database, work: (client: PoolClient) => Promise<T>): Promise<T> {
  return database.transaction(async (client) => {
    await client.query(`${reportPlanning}; set transaction read only`);
    return work(client);
  });
}
