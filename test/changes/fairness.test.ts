/**
 * Measures how long one token delays another token at `/changes` by many concurrent requests. The requests are real,
 * and the test decides when each page read ends.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ChangesPage, ChangesRequest } from '../../src/model/push/changes.ts';
import { ChangePages } from '../../src/observe/changes/change-pages.ts';
import { ChangeStream } from '../../src/observe/changes/change-stream.ts';
import { FairQueue } from '../../src/observe/changes/turns.ts';
import { CheckpointWaiters } from '../../src/observe/health/checkpoint-waiters.ts';
import { HealthTracker } from '../../src/observe/health/health-tracker.ts';
import { ChangesAnswers } from '../../src/observe/http/changes-endpoint.ts';
import { localReader } from '../../src/observe/http/readers.ts';
import { startHttpServer, type RunningHttpServer } from '../../src/observe/http/http-server.ts';
import { createMetrics } from '../../src/observe/metrics/metrics.ts';
import { defaultPace } from '../../src/config/pace.ts';
import { pause, waitFor } from '../support/wait-for.ts';

const maxRequests = 100;
const concurrentReads = 2;

interface PageRead {
  readonly kind: string;
  readonly finish: () => void;
}

/** Page reads that have begun, in order. The test decides when each of them ends. */
let pageReads: PageRead[];
let server: RunningHttpServer;
let waiters: CheckpointWaiters;
let requestCount: number;
let abortController: AbortController;
beforeEach(async () => {
  [pageReads, requestCount, abortController] = [[], 0, new AbortController()];
  waiters = new CheckpointWaiters(maxRequests);
  const pages = new ChangePages(readPage, new FairQueue(concurrentReads));
  const health = new HealthTracker({ version: '1.2.3', schema: 'ledger', stalledAfterMs: 1000 });
  server = await startHttpServer({
    host: '127.0.0.1',
    port: 0,
    metrics: createMetrics({ version: '1.2.3' }),
    status: () => health.status(),
    verdict: () => health.verdict(),
    waiters: new CheckpointWaiters(),
    changes: new ChangesAnswers({
      stream: new ChangeStream(pages, waiters, () => Promise.resolve(7), defaultPace),
      unknownIn: () => Promise.resolve([]),
      readerOf: ({ headers }) => {
        requestCount += 1;
        return Promise.resolve({ role: 'reader', reader: headers.authorization ?? localReader });
      },
      most: maxRequests,
    }),
  });
});
afterEach(async () => {
  abortController.abort();
  waiters.close();
  await server.close();
});

function readPage({ party, after: afterOffset }: ChangesRequest): Promise<ChangesPage> {
  return new Promise((resolve) => {
    const page: ChangesPage = { changes: [], next: afterOffset, atEnd: true, checkpoint: 7, availableAfter: 0 };
    pageReads.push({ kind: party?.replace('::1220', '') ?? '', finish: () => resolve(page) });
  });
}

/** Status of the response when it begins. The stream stays open. */
async function fetchStatus(reader: string, kind: string): Promise<number> {
  const requestsBefore = requestCount;
  const headers = reader === localReader ? {} : { authorization: reader };
  const response = fetch(`${server.url}/changes?party=${kind}::1220`, { headers, signal: abortController.signal });
  response.catch(() => undefined);
  await waitFor('the request', () => (requestCount > requestsBefore ? true : undefined));
  return (await response).status;
}

/** Sends `count` requests with different filters, and waits until all have arrived. */
async function flood(reader: string, count: number): Promise<void> {
  const requestsBefore = requestCount;
  const responses = Array.from({ length: count }, (_, index) => fetchStatus(reader, `${reader}-${String(index)}`));
  for (const response of responses) response.catch(() => undefined);
  await waitFor('the requests', () => (requestCount === requestsBefore + count ? true : undefined));
}

/** Ends reads one by one, until a read of `kind` has begun and ended. Returns how many reads began before that one. */
async function countTurnsBefore(kind: string): Promise<number> {
  for (let index = 0; ; index += 1) {
    const { kind: next, finish } = await waitFor('a read', () => pageReads[index]);
    finish();
    if (next === kind) return index;
  }
}

describe('a token with many concurrent requests', () => {
  it('delays another token only by page reads that have already begun', async () => {
    await flood('busy', 40);
    const otherStatus = fetchStatus('other', 'wanted');
    otherStatus.catch(() => undefined);
    await waitFor('the request', () => (requestCount === 41 ? true : undefined));
    expect(pageReads.length).toBe(concurrentReads);
    // Expected: the reads that had already begun, and one read of the other client.
    expect(await countTurnsBefore('wanted')).toBeLessThanOrEqual(concurrentReads + 1);
    expect(await otherStatus).toBe(200);
  });

  it('alternates page reads with three other tokens', async () => {
    await flood('busy', 40);
    for (const reader of ['b', 'c', 'd']) await flood(reader, 3);
    for (let index = 0; index < 12; index += 1) {
      pageReads[index]?.finish();
      await waitFor('the next read', () => (pageReads.length > index + concurrentReads ? true : undefined));
    }
    const order = pageReads.slice(concurrentReads, concurrentReads + 12).map(({ kind }) => kind.split('-')[0]);
    for (let from = 0; from < 12; from += 4) {
      expect(new Set(order.slice(from, from + 4))).toEqual(new Set(['busy', 'b', 'c', 'd']));
    }
  });

  it('does not delay another token that requests the same page', async () => {
    await flood('busy', 40);
    const otherStatus = fetchStatus('other', 'busy-39');
    otherStatus.catch(() => undefined);
    await waitFor('the request', () => (requestCount === 41 ? true : undefined));
    expect(await countTurnsBefore('busy-39')).toBeLessThanOrEqual(concurrentReads + 1);
    expect(await otherStatus).toBe(200);
    expect(pageReads.filter(({ kind }) => kind === 'busy-39').length).toBe(1);
  });

  it('is rejected with 429 if it has more streams than there are free slots', async () => {
    await flood('busy', maxRequests / 2 + 1);
    const refusedResponse = await fetch(`${server.url}/changes`, {
      headers: { authorization: 'busy' },
      signal: abortController.signal,
    });
    expect(refusedResponse.status).toBe(429);
    expect(await refusedResponse.json()).toEqual({
      error:
        '51 streams of this token are open, and a token may have at most as many as there are free slots (49): ' +
        'close some of them, or raise INDEXER_CHANGES_MAX_CLIENTS',
    });
    await flood('other', 20);
    await flood(localReader, 29);
    const overloadResponse = await fetch(`${server.url}/changes`, { signal: abortController.signal });
    expect(overloadResponse.status).toBe(503);
  });
});

describe('a connection', () => {
  it('rests after a turn for the returned time, which may depend on the work that waits', async () => {
    const begun: string[] = [];
    const queue = new FairQueue(1, (_turnMs, waitingCount) => (waitingCount === 1 ? 3_600_000 : 0));
    const take = (name: string): Promise<void> =>
      queue.take('reader', () => {
        begun.push(name);
        return Promise.resolve();
      });
    const [first, second] = [take('first'), take('second'), take('third')];
    await Promise.all([first, second]);
    // The third one would begin in the same turn of the event loop.
    await pause(20);
    expect(begun).toEqual(['first', 'second']);
  });
});
