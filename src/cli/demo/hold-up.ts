/** Makes a database slow on purpose, for demonstrations: the checkpoint cannot move for a while, reads go on. */
import { openDatabase } from '../../store/connection/database.ts';

/**
 * Holds the table `stream` against writers for so long. @param ms milliseconds
 * @throws IndexerError STORE_… when the database cannot be reached or has no such schema
 */
export async function holdUp(url: string, schema: string, ms: number): Promise<void> {
  const applicationName = 'ledger-indexer chaos';
  const database = openDatabase({ url, schema, statementTimeoutMs: ms + 30_000, applicationName });
  try {
    await database.transaction(async (client) => {
      await client.query('lock table stream in exclusive mode');
      await client.query('select pg_sleep($1)', [ms / 1000]);
    });
  } finally {
    await database.close();
  }
}
