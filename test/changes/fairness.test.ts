/**
 * Measures how long one token delays another token at `/changes` by many concurrent requests. The requests are real,
 * and the test decides when each page read ends.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ChangesPage, ChangesRequest } from '../../src/model/push/changes.ts';
import { ChangePages } from '../../src/observe/changes/change-pages.ts';
import { ChangeStream } from '../../src/observe/changes/change-stream.ts';
import { Turns } from '../../src/observe/changes/turns.ts';
import { CheckpointWaiters } from '../../src/observe/health/checkpoint-waiters.ts';
import { HealthTracker } from '../../src/observe/health/health-tracker.ts';
import { ChangesAnswers, thisMachine } from '../../src/observe/http/changes-endpoint.ts';
import { startHttpServer, type RunningHttpServer } from '../../src/observe/http/http-server.ts';
import { createMetrics } from '../../src/observe/metrics/metrics.ts';
import { usualPace } from '../../src/config/pace.ts';
import { waitFor } from '../support/wait-for.ts';

const most = 100;
const turnsAtOnce = 2;

interface Read {
  readonly kind: string;
  readonly finish: () => void;
}

/** Page reads that have begun, in order. The test decides when each of them ends. */
let reads: Read[];
let server: RunningHttpServer;
let waiters: CheckpointWaiters;
let requestCount: number;
let left: AbortController;
beforeEach(async () => {
  [reads, requestCount, left] = [[], 0, new AbortController()];
  waiters = new CheckpointWaiters(most);
  const pages = new ChangePages(readPage, new Turns(turnsAtOnce));
  const health = new HealthTracker({ version: '1.2.3', schema: 'ledger', stalledAfterMs: 1000 });
  server = await startHttpServer({
    host: '127.0.0.1',
    port: 0,
    metrics: createMetrics({ version: '1.2.3' }),
    status: () => health.status(),
    verdict: () => health.verdict(),
    waiters: new CheckpointWaiters(),
    changes: new ChangesAnswers({
      stream: new ChangeStream(pages, waiters, () => Promise.resolve(7), usualPace),
      unseenIn: () => Promise.resolve([]),
      readerOf: ({ headers }) => {
        requestCount += 1;
        return Promise.resolve({ role: 'reader', reader: headers.authorization ?? thisMachine });
      },
      most,
    }),
  });
});
afterEach(async () => {
  left.abort();
  waiters.close();
  await server.close();
});

function readPage({ eventTypes, after }: ChangesRequest): Promise<ChangesPage> {
  return new Promise((resolve) => {
    const page: ChangesPage = { changes: [], next: after, atEnd: true, checkpoint: 7, availableAfter: 0 };
    reads.push({ kind: eventTypes.join(), finish: () => resolve(page) });
  });
}

/** Status of the response when it begins. The stream stays open. */
async function fetchStatus(reader: string, kind: string): Promise<number> {
  const before = requestCount;
  const headers = reader === thisMachine ? {} : { authorization: reader };
  const answer = fetch(`${server.url}/changes?event_type=${kind}`, { headers, signal: left.signal });
  answer.catch(() => undefined);
  await waitFor('the request', () => (requestCount > before ? true : undefined));
  return (await answer).status;
}

/** Sends `count` requests with different filters, and waits until all have arrived. */
async function flood(reader: string, count: number): Promise<void> {
  const before = requestCount;
  const answers = Array.from({ length: count }, (_, nth) => fetchStatus(reader, `${reader}-${String(nth)}`));
  for (const answer of answers) answer.catch(() => undefined);
  await waitFor('the requests', () => (requestCount === before + count ? true : undefined));
}

/** Ends reads one by one, until a read of `kind` has begun and ended. Returns how many reads began before that one. */
async function turnsBefore(kind: string): Promise<number> {
  for (let nth = 0; ; nth += 1) {
    const { kind: next, finish } = await waitFor('a read', () => reads[nth]);
    finish();
    if (next === kind) return nth;
  }
}

describe('a token with many concurrent requests', () => {
  it('delays another token only by page reads that have already begun', async () => {
    await flood('busy', 40);
    const other = fetchStatus('other', 'wanted');
    other.catch(() => undefined);
    await waitFor('the request', () => (requestCount === 41 ? true : undefined));
    expect(reads.length).toBe(turnsAtOnce);
    // Expected: the reads that had already begun, and one read of the other client.
    expect(await turnsBefore('wanted')).toBeLessThanOrEqual(turnsAtOnce + 1);
    expect(await other).toBe(200);
  });

  it('alternates page reads with three other tokens', async () => {
    await flood('busy', 40);
    for (const reader of ['b', 'c', 'd']) await flood(reader, 3);
    for (let nth = 0; nth < 12; nth += 1) {
      reads[nth]?.finish();
      await waitFor('the next read', () => (reads.length > nth + turnsAtOnce ? true : undefined));
    }
    const order = reads.slice(turnsAtOnce, turnsAtOnce + 12).map(({ kind }) => kind.split('-')[0]);
    for (let from = 0; from < 12; from += 4) {
      expect(new Set(order.slice(from, from + 4))).toEqual(new Set(['busy', 'b', 'c', 'd']));
    }
  });

  it('does not delay another token that requests the same page', async () => {
    await flood('busy', 40);
    const other = fetchStatus('other', 'busy-39');
    other.catch(() => undefined);
    await waitFor('the request', () => (requestCount === 41 ? true : undefined));
    expect(await turnsBefore('busy-39')).toBeLessThanOrEqual(turnsAtOnce + 1);
    expect(await other).toBe(200);
    expect(reads.filter(({ kind }) => kind === 'busy-39').length).toBe(1);
  });

  it('is rejected with 429 if it has more streams than there are free slots', async () => {
    await flood('busy', most / 2 + 1);
    const refused = await fetch(`${server.url}/changes`, { headers: { authorization: 'busy' }, signal: left.signal });
    expect(refused.status).toBe(429);
    expect(await refused.json()).toEqual({
      error:
        '51 streams of this token are open, and a token may have at most as many as there are free slots (49): ' +
        'close some of them, or raise INDEXER_CHANGES_MAX_CLIENTS',
    });
    await flood('other', 20);
    await flood(thisMachine, 29);
    const full = await fetch(`${server.url}/changes`, { signal: left.signal });
    expect(full.status).toBe(503);
  });
});
