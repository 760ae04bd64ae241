/** Any login role can acquire the writer lock. The indexer reports the session that holds it. */
import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startSandbox } from '../../packages/ledger-sandbox/src/demo/sandbox.ts';
import type { Sandbox } from '../../packages/ledger-sandbox/src/server/sandbox.ts';
import { program } from '../cli/program.ts';
import { runIndexer, type IndexerRun } from '../e2e/runs/indexer-run.ts';
import { createTestDatabase, query, type TestDatabase } from '../support/database.ts';
import { waitFor } from '../support/wait-for.ts';

const suffix = randomBytes(4).toString('hex');
const writer = `writer_${suffix}`;
const consoleRole = `stranger_${suffix}`;
let sandbox: Sandbox;
let database: TestDatabase;

function urlOf(role: string): string {
  return Object.assign(new URL(database.url), { username: role, password: 'secret' }).href;
}

beforeAll(async () => {
  sandbox = await startSandbox({ seed: 3 });
  database = await createTestDatabase();
  for (const role of [writer, consoleRole]) await query(database.url, `create role ${role} login password 'secret'`);
  await query(database.url, `grant create on database ${new URL(database.url).pathname.slice(1)} to ${writer}`);
});
afterAll(async () => {
  await sandbox.close();
  await query(database.url, `drop owned by ${writer} cascade; drop role ${writer}; drop role ${consoleRole}`);
  await database.drop();
});

const start = (): Promise<IndexerRun> => runIndexer({ LEDGER_URL: sandbox.url, DATABASE_URL: urlOf(writer) });

/** Waits until `/status` reports a holder of this role, and returns it. */
async function holderOf(indexer: IndexerRun, role: string): Promise<Record<string, unknown>> {
  return await waitFor(`a holder of role ${role}`, async () => {
    const { lockHolder } = (await indexer.status()) as unknown as { lockHolder: Record<string, unknown> | null };
    return lockHolder?.['role'] === role ? lockHolder : undefined;
  });
}

it('/status, /readyz, the log and reset name the session with the writer lock', async () => {
  const lockClient = new Client({ connectionString: urlOf(consoleRole), application_name: 'a console' });
  // If the test fails, dropping the database ends the session.
  lockClient.on('error', () => undefined);
  await lockClient.connect();
  const { rows } = await lockClient.query<{ pid: number }>(
    `select pg_backend_pid() as pid, pg_advisory_lock(hashtext('ledger-indexer writer'), hashtext('ledger'))`,
  );
  const pid = rows[0]?.pid;
  await using indexer = await start();
  // Values that Postgres hides from other roles are null.
  const expectedHolder = { pid, role: consoleRole, application: 'a console', address: null, since: null };
  expect(await holderOf(indexer, consoleRole)).toEqual(expectedHolder);
  const sessionText = `session ${pid} of role "${consoleRole}", application "a console"`;
  const readyDocument = (await (await fetch(`${indexer.httpUrl}/readyz`)).json()) as { reason: string };
  expect(readyDocument.reason).toBe(`${sessionText} holds the writer lock; this one takes over when it ends`);
  const lines = indexer.log.filter((line) => line.includes('another session holds the writer lock'));
  expect(lines.map((line) => (JSON.parse(line) as { holder: unknown }).holder)).toEqual([expectedHolder]);
  const refusedCommand = await program(['reset', '--to=0', '--yes'], { DATABASE_URL: urlOf(writer) });
  expect(refusedCommand.stderr).toContain(sessionText);

  await lockClient.end();
  expect(await holderOf(indexer, writer)).toMatchObject({ application: 'ledger-indexer lock' });
  expect(indexer.logged('this process holds the writer lock')).toBe(1);
});

it('/status of a standby names the session with the writer lock, and its start', async () => {
  await using leader = await start();
  const holder = await holderOf(leader, writer);
  await using standby = await start();
  expect(await holderOf(standby, writer)).toEqual(holder);
  expect(Date.parse(String(holder['since']))).toBeGreaterThan(Date.now() - 120_000);
});
