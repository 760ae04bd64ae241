/** Reads of prune and redact. */
import type { PoolClient } from 'pg';
import type { Database } from '../connection/database.ts';
import { reportPlanning } from '../connection/report-planning.ts';

/**
 * Statements that read complete tables: the settings of the writer's sessions, made for few rows, would be far too
 * slow.
 */
export function reading<T>(database: Database, work: (client: PoolClient) => Promise<T>): Promise<T> {
  return database.transaction(async (client) => {
    await client.query(`${reportPlanning}; set transaction read only`);
    return work(client);
  });
}
