/**
 * Participants return their id only to administrators. An indexer whose user may only read works safely without the id.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startSandbox } from '../../packages/ledger-sandbox/src/demo/sandbox.ts';
import type { Sandbox } from '../../packages/ledger-sandbox/src/server/sandbox.ts';
import { generateHistory } from '../../packages/ledger-sandbox/src/demo/traffic.ts';
import { createTestDatabase, query, type TestDatabase } from '../support/database.ts';
import { sharedSecret, token } from '../support/tokens.ts';
import { waitFor } from '../support/wait-for.ts';
import { runIndexer, type IndexerRun } from './runs/indexer-run.ts';

const secret = 'a shared secret for tests of the participant id';
const signer = sharedSecret(secret);
const unknown =
  'the participant id cannot be read with the rights of this user: only the last stored update identifies the history';

let sandbox: Sandbox;
let database: TestDatabase;
beforeEach(async () => {
  const readAsAny = { kind: 'CanReadAsAnyParty' } as const;
  const users = [
    { id: 'reader', rights: [readAsAny] },
    { id: 'admin', rights: [readAsAny, { kind: 'ParticipantAdmin' as const }] },
  ];
  sandbox = await startSandbox({ auth: { secret, users }, limits: { checkpointIntervalMs: 100 } });
  generateHistory(sandbox.ledger, { seed: 4, updates: 20 });
  database = await createTestDatabase();
});
afterEach(async () => {
  await sandbox.close();
  await database.drop();
});

async function run(user: 'reader' | 'admin'): Promise<IndexerRun> {
  const LEDGER_TOKEN = await token(signer, { sub: user });
  return await runIndexer({
    LEDGER_URL: sandbox.url,
    DATABASE_URL: database.url,
    INDEXER_START: 'genesis',
    LEDGER_TOKEN,
  });
}

async function storedId(): Promise<unknown> {
  const rows = await query(database.url, 'select participant_id from ledger.stream');
  return rows[0]?.['participant_id'];
}

/** Runs an indexer until it has stored everything. @returns the stored participant id */
async function indexAs(
  user: 'reader' | 'admin',
  whileRunning?: (indexer: IndexerRun) => Promise<void>,
): Promise<unknown> {
  {
    await using indexer = await run(user);
    await indexer.reaches(sandbox.ledger.ledgerEnd());
    await whileRunning?.(indexer);
  }
  return await storedId();
}

async function expectParkedWith(user: 'reader' | 'admin', code: string): Promise<void> {
  await using indexer = await run(user);
  await waitFor('the indexer parks', async () => ((await indexer.status()).state === 'parked' ? true : undefined));
  expect((await indexer.status()).lastError).toMatchObject({ code });
}

describe('indexer with read-only rights', () => {
  it('runs without the participant id, and logs the missing id once', async () => {
    const storedStatus = await indexAs('reader', async (indexer) => {
      // The test runs only this stream, because the stream of completions would log another message.
      sandbox.faults.cut = { path: '/v2/updates', times: 2 };
      await waitFor('two cuts', async () => {
        generateHistory(sandbox.ledger, { seed: 5, updates: 1 });
        return indexer.logged('backing off') >= 2 ? true : undefined;
      });
      await indexer.reaches(sandbox.ledger.ledgerEnd());
      expect(indexer.logged(unknown)).toBe(1);
      expect(await indexer.status()).toMatchObject({ participantId: null });
    });
    expect(storedStatus).toBeNull();
  });

  it('keeps a stored participant id when the right to read the id is revoked', async () => {
    expect(await indexAs('reader')).toBeNull();
    const identifiedRun = await indexAs('admin', async (indexer) => {
      expect(indexer.logged(unknown)).toBe(0);
      expect(await indexer.status()).toMatchObject({ participantId: sandbox.participantId });
    });
    expect(identifiedRun).toBe(sandbox.participantId);
    expect(await indexAs('reader')).toBe(sandbox.participantId);
    sandbox.ledger.participantId = 'participant2::1220bb';
    await expectParkedWith('admin', 'PARTICIPANT_CHANGED');
  });

  it('parks on rewritten history without a participant id', async () => {
    await indexAs('reader');
    sandbox.ledger.participantId = 'participant2::1220bb';
    sandbox.ledger.rewriteAfter(0);
    await expectParkedWith('reader', 'HISTORY_CHANGED');
    await expectParkedWith('admin', 'HISTORY_CHANGED');
    expect(await storedId()).toBeNull();
  });
});
