/** `npm run docs:schema`: writes the diagram of docs/sql.md from the catalog of a freshly migrated database. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { prepareOutputs } from '../bench/indexer-process.ts';
import { startEmbeddedPostgres } from '../packages/embedded-postgres/src/embedded-postgres.ts';
import { openDatabase, type Database } from '../src/store/connection/database.ts';
import { migrate } from '../src/store/schema/migrations.ts';
import { withDiagram } from './schema-diagram.ts';
import { storedTables } from './schema-tables.ts';

prepareOutputs();
const folder = await mkdtemp(join(tmpdir(), 'schema-'));
const server = await startEmbeddedPostgres({ dataDir: join(folder, 'postgres') });
try {
  const database = openDatabase({
    url: server.url,
    schema: 'ledger',
    statementTimeoutMs: 60_000,
    applicationName: 'schema diagram',
  });
  await write(database);
  await database.close();
} finally {
  await server.stop();
  await rm(folder, { recursive: true, force: true });
}

async function write(database: Database): Promise<void> {
  await migrate(database);
  const page = 'docs/sql.md';
  await writeFile(page, withDiagram(await readFile(page, 'utf8'), await storedTables(database)));
}
