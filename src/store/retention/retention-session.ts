/** Runs the reading statements of prune and redact. */
import type { PoolClient } from 'pg';
import type { Database } from '../connection/database.ts';
import { reportPlanning } from '../connection/report-planning.ts';

/**
 * Runs statements that read entire tables. The settings of the writer's sessions are for statements on few rows and
 * would make these statements far too slow.
 */
export function withReadTransaction<T>(database: Database, work: (client: PoolClient) => Promise<T>): Promise<T> {
  return database.transaction(async (client) => {
    await client.query(`${reportPlanning}; set transaction read only`);
    return work(client);
  });
}
