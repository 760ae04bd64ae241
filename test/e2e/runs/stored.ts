/** Rows that the daemons under test have stored, read over a separate connection. */
import { Client, DatabaseError, escapeIdentifier } from 'pg';
import { waitFor } from '../../support/wait-for.ts';
import type { Daemon } from './daemon.ts';

/** SQLSTATE of a missing table, also if the schema is missing. */
const undefinedTable = '42P01';

export interface StoredStream extends AsyncDisposable {
  readonly client: Client;
  /** Undefined while there is no checkpoint: no table, no row, or an incomplete seed. */
  checkpoint(schema: string): Promise<number | undefined>;
  /** Number of contracts of a running or completed seed. */
  seeded(schema: string): Promise<number>;
  /** Waits until the checkpoint is at least `offset`; fails at once if the daemon ends before that. */
  reaches(daemon: Daemon, schema: string, offset: number, limitMs?: number): Promise<number>;
}

export async function watchStored(url: string): Promise<StoredStream> {
  const client = new Client({ connectionString: url, application_name: 'test' });
  await client.connect();
  const streamColumn = async (schema: string, column: 'checkpoint' | 'seed_contracts'): Promise<number | undefined> => {
    const table = `${escapeIdentifier(schema)}.stream`;
    try {
      const { rows } = await client.query<{ value: string | null }>(`select ${column} as value from ${table}`);
      const value = rows[0]?.value;
      return value === undefined || value === null ? undefined : Number(value);
    } catch (error) {
      if (error instanceof DatabaseError && error.code === undefinedTable) return undefined;
      throw error;
    }
  };
  const checkpoint = (schema: string): Promise<number | undefined> => streamColumn(schema, 'checkpoint');
  return {
    client,
    checkpoint,
    seeded: async (schema) => (await streamColumn(schema, 'seed_contracts')) ?? 0,
    reaches: (daemon, schema, offset, limitMs = 60_000) =>
      waitFor(
        `the checkpoint of ${schema} reaches ${offset}`,
        async () => {
          const storedCheckpoint = await checkpoint(schema);
          if (storedCheckpoint !== undefined && storedCheckpoint >= offset) return storedCheckpoint;
          const exit = daemon.exit();
          if (exit === undefined) return undefined;
          throw new Error(
            `the daemon ended (${exit.code ?? exit.signal}) at ${storedCheckpoint}:\n${daemon.output().slice(-2_000)}`,
          );
        },
        limitMs,
      ),
    [Symbol.asyncDispose]: () => client.end(),
  };
}
