/** Another program renews a token file while the complete indexer streams into Postgres. */
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startSandbox } from '../../packages/ledger-sandbox/src/demo/sandbox.ts';
import type { Sandbox } from '../../packages/ledger-sandbox/src/server/sandbox.ts';
import { startTraffic } from '../../packages/ledger-sandbox/src/demo/traffic.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { digestOf } from '../support/digest.ts';
import { pause, waitFor } from '../support/wait-for.ts';
import { runIndexer, type IndexerRun } from './runs/indexer-run.ts';

let folder: string;
let sandbox: Sandbox;
let database: TestDatabase;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'token-file-'));
  // The indexer may not be permitted to read the newest updates. Then only an OffsetCheckpoint reports their offsets.
  sandbox = await startSandbox({ limits: { checkpointIntervalMs: 200 } });
  database = await createTestDatabase();
});
afterEach(async () => {
  await sandbox.close();
  await database.drop();
  await rm(folder, { recursive: true });
});

/** This is long enough, although the ledger grows during the renewals and batches contain only five updates. */
const storeLimitMs = 180_000;

let issuedCount = 0;

/** Replaces the file atomically with a token that is due for renewal within a second and valid for a few more. */
async function rotate(): Promise<void> {
  issuedCount += 1;
  const now = Math.floor(Date.now() / 1000);
  const claims = { iat: now - 12, exp: now + 4, jti: String(issuedCount) };
  const token = `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.s`;
  await writeFile(join(folder, 'next'), token);
  await rename(join(folder, 'next'), join(folder, 'token'));
}

function run(schema: string): Promise<IndexerRun> {
  return runIndexer({
    LEDGER_URL: sandbox.url,
    DATABASE_URL: database.url,
    POSTGRES_SCHEMA: schema,
    INDEXER_START: 'genesis',
    LEDGER_TOKEN_FILE: join(folder, 'token'),
    // Small batches, so that a renewal happens while a batch is being filled and further frames wait.
    INDEXER_BATCH_UPDATES: '5',
  });
}

describe('indexer with LEDGER_TOKEN_FILE', () => {
  it('reopens the stream with each renewed token, under load and when idle, without backoff', async () => {
    await rotate();
    await using indexer = await run('file');
    const traffic = startTraffic(sandbox.ledger, { seed: 8, updatesPerSecond: 100 });
    const renewals = (count: number): Promise<true> =>
      waitFor(`${count} renewals`, async () => {
        await rotate();
        await pause(200);
        return (await indexer.metric('indexer_access_token_renewals_total')) >= count ? true : undefined;
      });
    await renewals(2);
    traffic.stop();
    await indexer.reaches(sandbox.ledger.ledgerEnd(), storeLimitMs);
    const renewalCount = await indexer.metric('indexer_access_token_renewals_total');
    await renewals(renewalCount + 2);
    // The newest token may have started one more renewal.
    await waitFor('a stream is open', async () => (await indexer.metric('indexer_ws_connected')) === 1 || undefined);
    await waitFor('it is caught up', async () => indexer.logged('live') > 0 || undefined);
    expect(indexer.logged('live')).toBe(1);
    expect(indexer.logged('backing off')).toBe(0);
    expect(await indexer.metric('indexer_ws_disconnects_total{code="renewed"}')).toBeGreaterThanOrEqual(4);
    expect(await indexer.metric('indexer_retries_total{stage="ledger"}')).toBe(0);
    await using reference = await run('reference');
    await reference.reaches(sandbox.ledger.ledgerEnd(), storeLimitMs);
    expect(await digestOf(database.url, 'file')).toBe(await digestOf(database.url, 'reference'));
  });

  it('keeps one stream if the token file is not renewed', async () => {
    await rotate();
    await using indexer = await run('old');
    await indexer.reaches(0);
    const traffic = startTraffic(sandbox.ledger, { seed: 9, updatesPerSecond: 50 });
    await pause(2_500);
    traffic.stop();
    await indexer.reaches(sandbox.ledger.ledgerEnd());
    expect(await indexer.metric('indexer_access_token_renewals_total')).toBe(0);
    expect(await indexer.metric('indexer_ws_connects_total{result="connected"}')).toBe(1);
  });
});
