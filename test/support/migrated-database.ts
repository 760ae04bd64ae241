/**
 * Creates databases whose schemas already have their tables by copying a template. Postgres needs 0.5 s of CPU time to
 * create the tables and views of one schema, but only 0.06 s to copy a database. The first test file that needs the
 * template creates it for all files of the run.
 */
import { createHash } from 'node:crypto';
import { Client, escapeIdentifier } from 'pg';
import { openDatabase } from '../../src/store/connection/database.ts';
import { migrate } from '../../src/store/schema/migrations.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';

/** Schemas of the tested stream and of a fresh stream for comparison. */
const schemaNames = ['ledger', 'fresh'] as const;

/** Creates a database with empty schemas, as `ledger-indexer migrate` creates them. */
export async function createMigratedDatabase(schemas: readonly string[] = schemaNames): Promise<TestDatabase> {
  const server = process.env['TEST_POSTGRES_URL'];
  const prefix = process.env['TEST_POSTGRES_TEMPLATES'];
  if (server === undefined || prefix === undefined) throw new Error('run the tests with vitest');
  // Postgres truncates names to 63 bytes.
  const template = `${prefix}_${createHash('sha256').update(schemas.join()).digest('hex').slice(0, 16)}`;
  await (migrationsByUrl[template] ??= makeTemplate(server, template, schemas));
  return createTestDatabase(template);
}

const migrationsByUrl: Record<string, Promise<void>> = {};

/** Creates the template. All test files use one lock, because another file may create the same template. */
async function makeTemplate(server: string, template: string, schemas: readonly string[]): Promise<void> {
  const client = new Client({ connectionString: server });
  await client.connect();
  try {
    await client.query('select pg_advisory_lock(hashtext($1))', [template]);
    const databaseRow = await client.query('select from pg_database where datname = $1', [template]);
    if (databaseRow.rowCount === 1) return;
    const { url } = await createTestDatabase();
    for (const schema of schemas) await migrateSchema(url, schema);
    // The database gets its final name only when it is complete.
    const name = escapeIdentifier(new URL(url).pathname.slice(1));
    await client.query(`alter database ${name} rename to ${escapeIdentifier(template)}`);
  } finally {
    await client.end();
  }
}

async function migrateSchema(url: string, schema: string): Promise<void> {
  const database = openDatabase({ url, schema, statementTimeoutMs: 60_000, applicationName: 'test' });
  try {
    await migrate(database);
  } finally {
    await database.close();
  }
}
