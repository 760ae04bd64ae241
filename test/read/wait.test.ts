/** Applications call `/wait` to wait until their update can be read. */
import { afterEach, describe, expect, it } from 'vitest';
import { CheckpointWaiters } from '../../src/observe/health/checkpoint-waiters.ts';
import { HealthTracker } from '../../src/observe/health/health-tracker.ts';
import { startHttpServer, type RunningHttpServer } from '../../src/observe/http/http-server.ts';
import { createMetrics } from '../../src/observe/metrics/metrics.ts';
import { Commits } from '../../src/pipeline/ports/commits.ts';
import { freePort } from '../../packages/embedded-postgres/src/embedded-postgres.ts';
import { startSandbox } from '../../packages/ledger-sandbox/src/demo/sandbox.ts';
import { generateHistory } from '../../packages/ledger-sandbox/src/demo/traffic.ts';
import { runIndexer } from '../e2e/runs/indexer-run.ts';
import { createTestDatabase, query } from '../support/database.ts';
import { waitFor } from '../support/wait-for.ts';

let server: RunningHttpServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

async function start(): Promise<{ readonly waiters: CheckpointWaiters; readonly commits: Commits }> {
  const waiters = new CheckpointWaiters();
  const commits = new Commits();
  commits.listen((checkpoint) => waiters.reached(checkpoint));
  const health = new HealthTracker({ version: '1', schema: 'ledger', stalledAfterMs: 1000 });
  server = await startHttpServer({
    host: '127.0.0.1',
    port: 0,
    metrics: createMetrics({ version: '1' }),
    status: () => health.status(),
    verdict: () => health.verdict(),
    waiters,
  });
  return { waiters, commits };
}

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

async function requestWait(queryString: string, signal?: AbortSignal): Promise<Answer> {
  const response = await fetch(`${server?.url ?? ''}/wait${queryString}`, signal === undefined ? {} : { signal });
  return { status: response.status, body: await response.json() };
}

async function waitForWaiters(waiters: CheckpointWaiters, count: number): Promise<void> {
  await waitFor(`${count} wait`, () => (waiters.size === count ? true : undefined));
}

describe('GET /wait', () => {
  it('returns immediately for a stored offset, otherwise when the offset is committed', async () => {
    const { waiters, commits } = await start();
    commits.reached(5);
    expect(await requestWait('?offset=5')).toEqual({ status: 200, body: { checkpoint: 5 } });
    const [at6, at8] = [requestWait('?offset=6'), requestWait('?offset=8')];
    await waitForWaiters(waiters, 2);
    commits.reached(7);
    expect(await at6).toEqual({ status: 200, body: { checkpoint: 7 } });
    expect(waiters.size).toBe(1);
    commits.reached(8);
    expect(await at8).toEqual({ status: 200, body: { checkpoint: 8 } });
  });

  it('returns 504 with the reached checkpoint after the timeout', async () => {
    const { waiters, commits } = await start();
    const message = 'the checkpoint did not reach 9 within 0.05 s';
    expect(await requestWait('?offset=9&timeout=0.05')).toEqual({
      status: 504,
      body: { error: message, checkpoint: null },
    });
    commits.reached(4);
    expect(await requestWait('?offset=9&timeout=0')).toMatchObject({ status: 504, body: { checkpoint: 4 } });
    expect(waiters.size).toBe(0);
  });

  it.each([
    ['', /offset must be/],
    ['?offset=-1', /offset must be/],
    ['?offset=1e3', /offset must be/],
    ['?offset=9999999999999999', /offset must be/],
    ['?offset=1&offset=2', /more than once/],
    ['?offset=1&timeout=61', /timeout must be seconds between 0 and 60/],
    ['?offset=1&timeout=soon', /timeout must be/],
    ['?offset=1&time=3', /unknown parameter "time"/],
  ])('returns 400 with a reason for the query "%s"', async (queryString, expectedReason) => {
    await start();
    expect(await requestWait(queryString)).toEqual({
      status: 400,
      body: { error: expect.stringMatching(expectedReason) as string },
    });
  });

  it('returns 503 if a thousand clients are waiting, and removes disconnected clients', async () => {
    const { waiters } = await start();
    const abortController = new AbortController();
    const leftAnswer = requestWait('?offset=1', abortController.signal).catch(() => 'left');
    await waitForWaiters(waiters, 1);
    const otherWaiters = Array.from({ length: 999 }, () => waiters.wait(2, 60_000, new AbortController().signal));
    expect(await requestWait('?offset=3')).toMatchObject({
      status: 503,
      body: { error: expect.stringMatching(/too many/) as string },
    });
    abortController.abort();
    expect(await leftAnswer).toBe('left');
    await waitForWaiters(waiters, 999);
    waiters.reached(2);
    expect(new Set(await Promise.all(otherWaiters))).toEqual(new Set(['reached']));
  });

  it('does not wait for a client that has already disconnected', async () => {
    const waiters = new CheckpointWaiters();
    expect(await waiters.wait(2, 60_000, AbortSignal.abort())).toBe('gone');
    expect(waiters.size).toBe(0);
  });

  it('returns 503 to waiting clients when the server closes', async () => {
    const { waiters } = await start();
    const response = requestWait('?offset=1&timeout=60');
    await waitForWaiters(waiters, 1);
    await server?.close();
    expect(await response).toMatchObject({ status: 503, body: { error: 'the indexer is stopping' } });
  });

  it('returns an offset that can be read, after a running indexer commits', async () => {
    await using database = await createTestDatabase();
    await using sandbox = await startSandbox({ seed: 11 });
    const port = String(await freePort());
    const urls = { LEDGER_URL: sandbox.url, DATABASE_URL: database.url };
    await using run = await runIndexer({ ...urls, INDEXER_HTTP_PORT: port });
    generateHistory(sandbox.ledger, { seed: 1, updates: 5 });
    await run.reaches(1);
    const requestedOffset = sandbox.ledger.ledgerEnd() + 3;
    const response = fetch(`http://127.0.0.1:${port}/wait?offset=${String(requestedOffset)}`);
    generateHistory(sandbox.ledger, { seed: 2, updates: 10 });
    const { checkpoint } = (await (await response).json()) as { checkpoint: number };
    expect(checkpoint).toBeGreaterThanOrEqual(requestedOffset);
    const [row] = await query(database.url, 'select checkpoint::int as checkpoint from ledger.stream');
    expect(row?.['checkpoint']).toBeGreaterThanOrEqual(requestedOffset);
  });
});
