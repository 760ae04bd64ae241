/** A freshly migrated database on a server of its own, for scripts that read its catalog. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { prepareOutputs } from '../../bench/indexer-process.ts';
import { startEmbeddedPostgres } from '../../packages/embedded-postgres/src/embedded-postgres.ts';
import { openDatabase, type Database } from '../../src/store/connection/database.ts';
import { migrate, migrationFiles } from '../../src/store/schema/migrations.ts';

/** Runs `work` with the database. Removes server and files afterwards. */
export async function withMigratedDatabase(work: (database: Database) => Promise<void>): Promise<void> {
  prepareOutputs();
  const folder = await mkdtemp(join(tmpdir(), 'schema-'));
  const server = await startEmbeddedPostgres({ dataDir: join(folder, 'postgres') });
  try {
    const database = openDatabase({
      url: server.url,
      schema: 'ledger',
      statementTimeoutMs: 60_000,
      applicationName: 'schema',
    });
    // Migrates only the storage, because views and functions for readers add no tables.
    await migrate(database, { files: await migrationFiles() });
    await work(database);
    await database.close();
  } finally {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  }
}
