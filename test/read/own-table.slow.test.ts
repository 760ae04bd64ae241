/** Follows docs/how-to/query/own-tables.md: a reader creates and refreshes a table while the indexer runs. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { grantRolesCommand } from '../../src/cli/roles/grant-roles.ts';
import { startSandbox } from '../../packages/ledger-sandbox/src/demo/sandbox.ts';
import type { Sandbox } from '../../packages/ledger-sandbox/src/server/sandbox.ts';
import { generateHistory } from '../../packages/ledger-sandbox/src/demo/traffic.ts';
import { blocksOf, pages } from '../docs/pages.ts';
import { runIndexer, type IndexerRun } from '../e2e/runs/indexer-run.ts';
import { createTestDatabase, query, type TestDatabase } from '../support/database.ts';
import { waitFor } from '../support/wait-for.ts';
import { runCommand } from '../support/run-command.ts';

const root = join(import.meta.dirname, '../..');
const blocks = pages()
  .filter(({ path }) => path === 'docs/how-to/query/own-tables.md')
  .flatMap(blocksOf);
/** The first code block of the page in a language. */
const block = (name: string): string => blocks.find(({ language }) => language === name)?.text ?? '';

const prefix = `own_${randomBytes(4).toString('hex')}`;
const reader = `${prefix}_reader`;
let sandbox: Sandbox;
let testDatabase: TestDatabase;
let indexer: IndexerRun;
let folder: string;
let listener: ChildProcess | undefined;
let url: string;

beforeAll(async () => {
  sandbox = await startSandbox({ limits: { checkpointIntervalMs: 50 } });
  generateHistory(sandbox.ledger, { seed: 5, updates: 200 });
  testDatabase = await createTestDatabase();
  indexer = await runIndexer({ LEDGER_URL: sandbox.url, DATABASE_URL: testDatabase.url, INDEXER_START: 'genesis' });
  await indexer.reaches(sandbox.ledger.ledgerEnd(), 60_000);
  folder = mkdtempSync(join(tmpdir(), 'own-table-'));
  writeFileSync(join(folder, 'reader'), 'secret\n');
  const args = ['--prefix', prefix, '--password-dir', folder];
  await runCommand(grantRolesCommand, args, { DATABASE_URL: testDatabase.url });
  const readers = new URL(testDatabase.url);
  await query(
    testDatabase.url,
    block('postgresql')
      .replace('database ledger', `database "${readers.pathname.slice(1)}"`)
      .replaceAll('analyst', reader),
  );
  [readers.username, readers.password] = [reader, 'secret'];
  url = readers.href;
});
afterAll(async () => {
  if (listener?.exitCode === null) {
    listener.kill();
    await once(listener, 'exit');
  }
  await indexer[Symbol.asyncDispose]();
  await sandbox.close();
  rmSync(folder, { recursive: true });
  await testDatabase.drop();
  const roles = ['owner', 'migrator', 'writer', 'redactor', 'reader'].map((kind) => `${prefix}_${kind}`).join(', ');
  await query(process.env['TEST_POSTGRES_URL'] ?? '', `drop role if exists ${roles}`);
});

/** Number of missing or extra rows in the reader's table. Fails if the table is empty. */
async function differences(): Promise<number> {
  const now = `select contract_id, created_at_offset, payload ->> 'owner' from explore.active('Amulet')`;
  const ownTableSql = 'select contract_id, created_at_offset, owner from reports.amulets';
  const [row] = await query(
    testDatabase.url,
    `select (select count(*)::int from ((${now} except ${ownTableSql}) union all (${ownTableSql} except ${now})) d) as wrong,
            (select count(*)::int from reports.amulets) as rows`,
  );
  expect(row?.['rows']).toBeGreaterThan(0);
  return Number(row?.['wrong']);
}

it('the documented table of a reader role follows creates and archives', async () => {
  const client = new Client({ connectionString: url });
  await client.connect();
  // Runs one statement at a time, as psql does.
  for (const statement of block('sql').split(/(?<=;)\n/)) await client.query(statement);
  await client.end();
  expect(await differences()).toBe(0);

  // The script runs from a folder in which the import of the driver resolves.
  const env = { PATH: process.env['PATH'], DATABASE_URL: url };
  const args = ['--input-type=module', '--eval', block('js')];
  listener = spawn(process.execPath, args, { cwd: root, env, stdio: ['ignore', 'ignore', 'inherit'] });
  generateHistory(sandbox.ledger, { seed: 6, updates: 200 });
  await indexer.reaches(sandbox.ledger.ledgerEnd(), 60_000);
  await waitFor('the view is as the ledger', async () => ((await differences()) === 0 ? true : undefined), 30_000);
  expect(listener.exitCode).toBeNull();
});
