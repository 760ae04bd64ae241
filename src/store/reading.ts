/** Transactions that only read, as readers do: many rows of large tables. */
import type { PoolClient } from 'pg';
import type { Database } from './database.ts';

/**
 * The writer's sessions avoid scans, because its statements touch few rows of large tables. Statements that read whole
 * tables, for as long as it takes, are planned as Postgres does by itself: for one transaction, until it ends.
 */
export const reportPlanning = [
  'set local plan_cache_mode = auto',
  'set local enable_seqscan = on',
  'set local enable_hashjoin = on',
  'set local enable_mergejoin = on',
].join('; ');

/** `work` in a transaction that only reads. */
export function reading<T>(database: Database, work: (client: PoolClient) => Promise<T>): Promise<T> {
  return database.transaction(async (client) => {
    await client.query(`${reportPlanning}; set transaction read only`);
    return work(client);
  });
}
