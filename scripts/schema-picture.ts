/** `npm run docs:schema`: writes docs/schema.svg from the catalog of a freshly migrated database. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { prepareOutputs } from '../bench/indexer-process.ts';
import { startEmbeddedPostgres } from '../src/embedded/embedded-postgres.ts';
import { openDatabase, type Database } from '../src/store/database.ts';
import { migrate } from '../src/store/migrations.ts';
import { drawSchema } from './schema-drawing.ts';
import { storedTables } from './schema-tables.ts';

prepareOutputs();
const folder = await mkdtemp(join(tmpdir(), 'schema-picture-'));
const server = await startEmbeddedPostgres({ dataDir: join(folder, 'postgres') });
try {
  const database = openDatabase({
    url: server.url,
    schema: 'ledger',
    statementTimeoutMs: 60_000,
    applicationName: 'schema picture',
  });
  await draw(database);
  await database.close();
} finally {
  await server.stop();
  await rm(folder, { recursive: true, force: true });
}

async function draw(database: Database): Promise<void> {
  await migrate(database);
  await writeFile('docs/schema.svg', drawSchema(await storedTables(database)));
}
