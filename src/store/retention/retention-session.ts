/** How prune and redact read. */
import type { PoolClient } from 'pg';
import type { Database } from '../connection/database.ts';
import { reportPlanning } from '../connection/report-planning.ts';

/** Statements that read whole tables: the settings of the writer's sessions, made for few rows, would take for ever. */
export function reading<T>(database: Database, work: (client: PoolClient) => Promise<T>): Promise<T> {
  return database.transaction(async (client) => {
    await client.query(`${reportPlanning}; set transaction read only`);
    return work(client);
  });
}
