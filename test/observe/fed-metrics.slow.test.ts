/** Metrics that a running indexer records in the ledger client, the database and the stream. */
import { Client } from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { startSandbox } from '../../packages/ledger-sandbox/src/demo/sandbox.ts';
import type { Sandbox } from '../../packages/ledger-sandbox/src/server/sandbox.ts';
import { generateHistory } from '../../packages/ledger-sandbox/src/demo/traffic.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { waitFor } from '../support/wait-for.ts';
import { runIndexer } from '../e2e/runs/indexer-run.ts';

let sandbox: Sandbox;
let database: TestDatabase;
beforeEach(async () => {
  sandbox = await startSandbox({ limits: { checkpointIntervalMs: 50 } });
  generateHistory(sandbox.ledger, { seed: 31, updates: 300 });
  database = await createTestDatabase();
});
afterEach(async () => {
  await sandbox.close();
  await database.drop();
});

/** Blocks every write until it is released. */
async function lockUpdates(): Promise<AsyncDisposable & { release(): Promise<unknown> }> {
  const client = new Client({ connectionString: database.url });
  await client.connect();
  await client.query('begin; lock table ledger.updates');
  return { release: () => client.query('rollback'), [Symbol.asyncDispose]: () => client.end() };
}

describe('metrics of a running indexer', () => {
  it('count ledger calls, time queries by purpose, and identify the stream', async () => {
    await using indexer = await runIndexer({
      LEDGER_URL: sandbox.url,
      DATABASE_URL: database.url,
      INDEXER_START: 'genesis',
    });
    await indexer.reaches(sandbox.ledger.ledgerEnd());
    const requestsMetric = 'indexer_ledger_requests_total{endpoint="/v2/state/ledger-end",status="200"}';
    expect(await indexer.metric(requestsMetric)).toBeGreaterThanOrEqual(1);
    expect(await indexer.metric('indexer_ledger_requests_total{endpoint="other",status="200"}')).toBe(0);
    const calls = await indexer.metric('indexer_ledger_request_seconds_count{endpoint="/v2/parties/participant-id"}');
    expect(calls).toBe(1);
    for (const queryKind of ['batch', 'commit', 'read', 'ddl', 'session']) {
      expect(await indexer.metric(`indexer_pg_query_seconds_count{op="${queryKind}"}`), queryKind).toBeGreaterThan(0);
    }
    const batches = await indexer.metric('indexer_commit_seconds_count');
    // Offset checkpoints of the ledger produce further batches between the two reads of metrics.
    const batchQueries = await indexer.metric('indexer_pg_query_seconds_count{op="batch"}');
    // If a batch overlaps with the previous one, a separate query completes it.
    const overlappingReads = await indexer.metric('indexer_pg_query_seconds_count{op="finish"}');
    expect(batchQueries + overlappingReads).toBeGreaterThanOrEqual(batches);
    expect(await indexer.metric('indexer_pg_pool_connections{state="total"}')).toBeGreaterThan(0);
    expect(await indexer.metric('indexer_pg_pool_connections_max')).toBeGreaterThan(3);
    const databaseUrl = new URL(database.url);
    const labels = `database="${databaseUrl.host}${databaseUrl.pathname}",schema="ledger",participant="${sandbox.ledger.participantId}"`;
    expect(await indexer.metric(`indexer_stream_info{${labels}}`)).toBe(1);
  });

  it('attribute waiting to the source on a quiet stream, and to a slow database', async () => {
    // Offset checkpoints are rare, so only one update arrives.
    await using quietSandbox = await startSandbox({ limits: { checkpointIntervalMs: 600_000 } });
    generateHistory(quietSandbox.ledger, { seed: 31, updates: 300 });
    await using indexer = await runIndexer({ LEDGER_URL: quietSandbox.url, DATABASE_URL: database.url });
    await waitFor('live', async () => ((await indexer.status()).state === 'live' ? true : undefined));
    const streamSeconds = (clockOf: string) => indexer.metric(`indexer_stream_seconds_total{activity="${clockOf}"}`);
    const sourceBefore = await streamSeconds('source');
    await waitFor('a second of silence', async () =>
      (await streamSeconds('source')) > sourceBefore + 1 ? true : undefined,
    );
    const database_ = await streamSeconds('database');
    await using updatesLock = await lockUpdates();
    // There is one write and no further frame. A connection is free, but the indexer still waits for the database.
    generateHistory(quietSandbox.ledger, { seed: 32, updates: 1 });
    await waitFor('a second of waiting', async () =>
      (await streamSeconds('database')) > database_ + 1 ? true : undefined,
    );
    await updatesLock.release();
    await indexer.reaches(quietSandbox.ledger.ledgerEnd());
  });
});
