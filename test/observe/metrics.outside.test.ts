/** Checks the metrics with promtool: names, types and help texts. */
import { describe, expect, it } from 'vitest';
import { startSandbox } from '../../packages/ledger-sandbox/src/demo/sandbox.ts';
import { generateHistory } from '../../packages/ledger-sandbox/src/demo/traffic.ts';
import { createMetrics } from '../../src/observe/metrics/metrics.ts';
import { runIndexer } from '../e2e/runs/indexer-run.ts';
import { createTestDatabase } from '../support/database.ts';
import { needs } from '../support/skips/needs.ts';
import { promtoolSkipReason, promtool } from '../support/skips/promtool.ts';
import { waitFor } from '../support/wait-for.ts';

function expectAccepted(metrics: string): void {
  const { status, stdout, stderr } = promtool(['check', 'metrics'], metrics);
  expect([stdout, stderr, status]).toEqual(['', '', 0]);
}

describe('promtool', needs(promtoolSkipReason), () => {
  it('accepts all metrics before the first event', async () => {
    expectAccepted(await createMetrics({ version: '1.2.3' }).registry.metrics());
  });

  it('accepts the metrics of a running indexer', async () => {
    await using sandbox = await startSandbox({ limits: { checkpointIntervalMs: 50 } });
    generateHistory(sandbox.ledger, { seed: 31, updates: 300 });
    await using database = await createTestDatabase();
    await using indexer = await runIndexer({ LEDGER_URL: sandbox.url, DATABASE_URL: database.url });
    await waitFor('live', async () => ((await indexer.status()).state === 'live' ? true : undefined));
    expectAccepted(await (await fetch(`${indexer.httpUrl}/metrics`)).text());
  });
});
