/**
 * Status of an indexer whose ledger is unreachable: it contains the current error and its remedy, not the first error.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startSandbox } from '../../../packages/ledger-sandbox/src/demo/sandbox.ts';
import type { Sandbox } from '../../../packages/ledger-sandbox/src/server/sandbox.ts';
import { runIndexer } from '../../e2e/runs/indexer-run.ts';
import type { TestDatabase } from '../../support/database.ts';
import { createMigratedDatabase } from '../../support/migrated-database.ts';
import { waitFor } from '../../support/wait-for.ts';

let sandbox: Sandbox;
let database: TestDatabase;

beforeAll(async () => {
  sandbox = await startSandbox({});
  database = await createMigratedDatabase(['ledger']);
});
afterAll(async () => {
  await sandbox.close();
  await database.drop();
});

it('GET /status reports the current error when the port closes after the stream', async () => {
  await using indexer = await runIndexer({
    LEDGER_URL: sandbox.url,
    DATABASE_URL: database.url,
    POSTGRES_SCHEMA: 'ledger',
  });
  await waitFor('it follows', async () => ((await indexer.status()).state === 'live' ? true : undefined));
  await sandbox.close();
  const readStatus = async (path: string): Promise<Readonly<Record<string, unknown>>> =>
    (await (await fetch(`${indexer.httpUrl}${path}`)).json()) as never;
  const now = { reason: expect.stringMatching(/^for \d+ s: LEDGER_UNREACHABLE: /) as unknown };
  const currentError = await waitFor('the current error is reported', async () => {
    const { reason } = await readStatus('/readyz');
    return String(reason).includes('LEDGER_UNREACHABLE') ? await readStatus('/readyz') : undefined;
  });
  expect(currentError).toMatchObject({
    ...now,
    remedy: expect.stringContaining('check that the participant runs') as unknown,
  });
  expect(await readStatus('/status')).toMatchObject({ ...now, state: 'backing_off', remedy: currentError['remedy'] });
  // The phase does not change with the error, so the log has one line.
  expect(indexer.logged('backing off')).toBe(1);
});
