/** Tests how the indexer reacts to errors of the ledger: it resumes, waits, or parks without changing the tables. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createLedgerClient } from '../../src/ledger/api/client.ts';
import { createTokenSource } from '../../src/ledger/access/token.ts';
import { startSandbox } from '../../packages/ledger-sandbox/src/demo/sandbox.ts';
import type { Sandbox } from '../../packages/ledger-sandbox/src/server/sandbox.ts';
import { generateHistory } from '../../packages/ledger-sandbox/src/demo/traffic.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { digestOf } from '../support/digest.ts';
import { sharedSecret, token } from '../support/tokens.ts';
import { waitFor } from '../support/wait-for.ts';
import { runIndexer, type IndexerRun } from './runs/indexer-run.ts';

const secret = 'a shared secret for tests of ledger errors';
const signer = sharedSecret(secret);
const readAsAny = { kind: { CanReadAsAnyParty: { value: {} } } } as const;

let sandbox: Sandbox;
let database: TestDatabase;
let history = 10;
beforeEach(async () => {
  const users = [{ id: 'reader', rights: [{ kind: 'CanReadAsAnyParty' as const }] }];
  sandbox = await startSandbox({ auth: { secret, users, rightsCheckMs: 20 }, limits: { checkpointIntervalMs: 50 } });
  growLedger();
  database = await createTestDatabase();
});
afterEach(async () => {
  await sandbox.close();
  await database.drop();
});

function growLedger(): void {
  generateHistory(sandbox.ledger, { seed: (history += 1), updates: 20 });
}

async function run(schema = 'ledger'): Promise<IndexerRun> {
  const LEDGER_TOKEN = await token(signer, { sub: 'reader' });
  const DATABASE_URL = database.url;
  const base = { LEDGER_URL: sandbox.url, POSTGRES_SCHEMA: schema, INDEXER_START: 'genesis' };
  return await runIndexer({ ...base, DATABASE_URL, LEDGER_TOKEN });
}

async function waitForState(indexer: IndexerRun, state: string): Promise<void> {
  await waitFor(`the state ${state}`, async () => ((await indexer.status()).state === state ? true : undefined));
}

/** Changes the rights of the reader, as an administrator would. */
async function changeRights(change: 'grant' | 'revoke'): Promise<void> {
  const tokenSource = createTokenSource({ token: await token(signer, { sub: 'participant_admin' }) });
  const options = { url: sandbox.url, tokenSource, insecure: false, requestTimeoutMs: 5_000 };
  const { users } = createLedgerClient(options);
  if (change === 'revoke') await users.revoke('reader', [readAsAny]);
  else await users.grant('reader', [{ kind: { CanReadAs: { value: { party: 'anyone' } } } }]);
}

async function expectSameAsUndisturbed(): Promise<void> {
  await using reference = await run('reference');
  await reference.reaches(sandbox.ledger.ledgerEnd());
  expect(await digestOf(database.url, 'ledger')).toBe(await digestOf(database.url, 'reference'));
}

describe('indexer', () => {
  it('resumes after every transient error frame, and stores the same rows as without errors', async () => {
    await using indexer = await run();
    const transientCodes = [
      'STALE_STREAM_AUTHORIZATION',
      'ACCESS_TOKEN_EXPIRED',
      'SERVER_OVERLOADED',
      'RESOURCE_EXHAUSTED',
      'SERVICE_NOT_RUNNING',
      'INTERNAL',
    ] as const;
    for (const [index, failure] of transientCodes.entries()) {
      sandbox.faults.streamFailure = { path: '/v2/updates', failure, times: 1 };
      growLedger();
      await waitFor(failure, () => (indexer.logged('backing off') > index ? true : undefined));
      await indexer.reaches(sandbox.ledger.ledgerEnd());
    }
    expect(indexer.logged('parked: an operator is needed')).toBe(0);
    await expectSameAsUndisturbed();
  });

  it('opens a new stream when its rights are extended', async () => {
    await using indexer = await run();
    await indexer.reaches(sandbox.ledger.ledgerEnd());
    await changeRights('grant');
    await waitFor('the stream to end', () =>
      indexer.log.some((line) => line.includes('LEDGER_STALE_AUTHORIZATION')) ? true : undefined,
    );
    growLedger();
    await indexer.reaches(sandbox.ledger.ledgerEnd());
    await expectSameAsUndisturbed();
  });

  it('parks when the right to read is revoked, and keeps its rows', async () => {
    await using indexer = await run();
    await indexer.reaches(sandbox.ledger.ledgerEnd());
    const digestBefore = await digestOf(database.url, 'ledger');
    await changeRights('revoke');
    await waitForState(indexer, 'parked');
    expect((await indexer.status()).lastError).toMatchObject({ code: 'LEDGER_PERMISSION_DENIED' });
    expect(await digestOf(database.url, 'ledger')).toBe(digestBefore);
  });

  it('backs off when the ledger end is before the checkpoint', async () => {
    await using indexer = await run();
    await indexer.reaches(sandbox.ledger.ledgerEnd());
    const { checkpoint } = await indexer.status();
    sandbox.ledger.lagBehind(5);
    sandbox.faults.cut = { path: '/v2/updates', times: 1 };
    await waitFor('it notices that the ledger is behind', async () => {
      const { lastError } = (await indexer.status()) as { readonly lastError: { readonly code: string } | null };
      return lastError?.code === 'LEDGER_BEHIND_CHECKPOINT' ? true : undefined;
    });
    expect(await indexer.status()).toMatchObject({ state: 'backing_off', checkpoint });
  });

  it('retries ledger-end requests rejected with RESOURCE_EXHAUSTED, without parking', async () => {
    sandbox.faults.answer = { path: '/v2/state/ledger-end', as: 'RESOURCE_EXHAUSTED', times: 3 };
    await using indexer = await run();
    await indexer.reaches(sandbox.ledger.ledgerEnd());
    expect(indexer.logged('ledger failed, trying again')).toBeGreaterThan(0);
    expect(indexer.logged('parked: an operator is needed')).toBe(0);
  });
});
