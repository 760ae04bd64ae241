/**
 * Tests faults that a seed must survive before the first update: tokens that expire during the seed, and another ledger
 * at the same URL.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startSandbox } from '../../packages/ledger-sandbox/src/demo/sandbox.ts';
import type { Sandbox } from '../../packages/ledger-sandbox/src/server/sandbox.ts';
import { generateHistory } from '../../packages/ledger-sandbox/src/demo/traffic.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { digestOf } from '../support/digest.ts';
import { sharedSecret, token } from '../support/tokens.ts';
import { waitFor } from '../support/wait-for.ts';
import { runIndexer, type IndexerRun } from './runs/indexer-run.ts';

const secret = 'a shared secret for tests of the seed';
const signer = sharedSecret(secret);

let sandbox: Sandbox;
let database: TestDatabase;
beforeEach(async () => {
  // A user who may read, but may not request the participant id.
  const users = [{ id: 'reader', rights: [{ kind: 'CanReadAsAnyParty' as const }] }];
  sandbox = await startSandbox({ auth: { secret, users }, limits: { checkpointIntervalMs: 50 } });
  generateHistory(sandbox.ledger, { seed: 21, updates: 500 });
  database = await createTestDatabase();
});
afterEach(async () => {
  await sandbox.close();
  await database.drop();
});

async function run(schema = 'ledger'): Promise<IndexerRun> {
  return await runIndexer({
    LEDGER_URL: sandbox.url,
    DATABASE_URL: database.url,
    POSTGRES_SCHEMA: schema,
    LEDGER_TOKEN: await token(signer, { sub: 'reader' }),
    INDEXER_BATCH_UPDATES: '2',
  });
}

async function waitForState(indexer: IndexerRun, state: string): Promise<void> {
  await waitFor(`the state ${state}`, async () => ((await indexer.status()).state === state ? true : undefined));
}

describe('seed', () => {
  it('continues after five expired tokens if entries were stored with each token', async () => {
    const times = 5;
    const path = '/v2/state/active-contracts';
    sandbox.faults.streamFailure = { path, failure: 'ACCESS_TOKEN_EXPIRED', afterFrames: 2, times };
    await using indexer = await run();
    await waitForState(indexer, 'live');
    expect(indexer.logged('backing off')).toBe(times);
    expect(indexer.logged('parked: an operator is needed')).toBe(0);
    await using reference = await run('reference');
    await waitForState(reference, 'live');
    expect(await digestOf(database.url, 'ledger')).toBe(await digestOf(database.url, 'reference'));
  });

  it('parks if every token expires before any entry is stored', async () => {
    sandbox.faults.streamFailure = { path: '/v2/state/active-contracts', failure: 'ACCESS_TOKEN_EXPIRED' };
    await using indexer = await run();
    await waitForState(indexer, 'parked');
    expect(indexer.logged('backing off')).toBe(2);
  });

  it('detects rewritten history from a seeded contract if no update was streamed', async () => {
    {
      await using indexer = await run();
      await waitForState(indexer, 'live');
    }
    {
      await using sameIndexer = await run();
      await waitForState(sameIndexer, 'live');
    }
    sandbox.ledger.participantId = 'participant2::1220bb';
    sandbox.ledger.rewriteAfter(0);
    await using indexer = await run();
    await waitForState(indexer, 'parked');
    expect((await indexer.status()).lastError).toMatchObject({ code: 'HISTORY_CHANGED' });
  });
});
