/** Requests to `/api` over real sockets. The test decides when each read ends, and how. */
import { request as ask } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { IndexerError } from '../../../src/errors/indexer-error.ts';
import type { ApiAnswer, ApiRequest } from '../../../src/model/push/read-api.ts';
import { ApiAnswers, type ApiRequestFacts } from '../../../src/observe/api/api-endpoint.ts';
import { CheckpointWaiters } from '../../../src/observe/health/checkpoint-waiters.ts';
import { HealthTracker } from '../../../src/observe/health/health-tracker.ts';
import { startHttpServer, type RunningHttpServer } from '../../../src/observe/http/http-server.ts';
import { localReader } from '../../../src/observe/http/readers.ts';
import { createMetrics } from '../../../src/observe/metrics/metrics.ts';
import { storedRoutes } from '../../../src/store/api/routes.ts';
import { waitFor } from '../../support/wait-for.ts';

interface PendingRead {
  readonly request: ApiRequest;
  readonly finish: (answer: ApiAnswer) => void;
  readonly fail: (error: Error) => void;
}

const maxPending = 100;

let reads: PendingRead[];
let answered: ApiRequestFacts[];
let server: RunningHttpServer;
let arrived: number;
beforeEach(async () => {
  [reads, answered, arrived] = [[], [], 0];
  const health = new HealthTracker({ version: '1.2.3', schema: 'ledger', stalledAfterMs: 1000 });
  const waiters = new CheckpointWaiters();
  server = await startHttpServer({
    host: '127.0.0.1',
    port: 0,
    metrics: createMetrics({ version: '1.2.3' }),
    status: () => health.status(),
    verdict: () => health.verdict(),
    waiters,
    api: new ApiAnswers({
      routes: storedRoutes,
      read: (request) => new Promise((resolve, reject) => reads.push({ request, finish: resolve, fail: reject })),
      waiters,
      readerOf: ({ headers }) => {
        arrived += 1;
        return Promise.resolve({ role: 'reader', reader: headers.authorization ?? localReader });
      },
      atOnce: 2,
      version: '1.2.3',
      onAnswer: (facts) => answered.push(facts),
    }),
  });
});
afterEach(() => server.close());

interface Answer {
  readonly status: number;
  readonly type: string;
  readonly allow: string | null;
  readonly body: Readonly<Record<string, unknown>>;
}

async function get(path: string, init: RequestInit = {}): Promise<Answer> {
  const response = await fetch(`${server.url}${path}`, init);
  const text = await response.text();
  const [type, allow] = [response.headers.get('content-type') ?? '', response.headers.get('allow')];
  return { status: response.status, type, allow, body: text === '' ? {} : (JSON.parse(text) as Answer['body']) };
}

/** Sends a request, and ends its read in this way. */
async function answerTo(path: string, end: (read: PendingRead) => void): Promise<Answer> {
  const pending = get(path);
  end(await waitFor('the read', () => reads.shift()));
  return pending;
}

describe('/api', () => {
  it('sends rows as Postgres printed them, and a cursor that continues after the last one', async () => {
    const rows = ['{"amount":"0.10000000000000000001"}'];
    const { status, type, body } = await answerTo('/api/holdings?limit=1', ({ finish }) =>
      finish({ offset: 7, rows, next: ['5', '00ab'] }),
    );
    expect([status, type]).toEqual([200, 'application/json; charset=utf-8']);
    expect(body).toMatchObject({ offset: 7, checkpoint: 7, rows: [{ amount: '0.10000000000000000001' }] });
    await answerTo(`/api/holdings?limit=2&cursor=${String(body['next'])}`, ({ request, finish }) => {
      expect(request).toMatchObject({ route: 'holdings', after: ['5', '00ab'], reader: { role: 'reader' } });
      finish({ offset: 7, rows: [] });
    });
  });

  it.each<[string, Error, number, string]>([
    ['an unknown name', new IndexerError('no', { code: 'NAME_UNKNOWN', remedy: 'x' }), 404, 'NAME_UNKNOWN'],
    ['an invalid filter', new IndexerError('no', { code: 'FILTER_INVALID' }), 400, 'FILTER_INVALID'],
    ['the time limit', new IndexerError('no', { code: 'STORE_STATEMENT_TIMEOUT' }), 503, 'TOO_SLOW'],
    ['a lost database', new IndexerError('secret host', { code: 'STORE_UNREACHABLE' }), 503, 'UNAVAILABLE'],
    ['a bug', new TypeError('secret detail'), 503, 'UNAVAILABLE'],
  ])('reports %s as a problem, without details of unexpected failures', async (_, error, status, code) => {
    const answer = await answerTo('/api/updates', ({ fail }) => fail(error));
    expect(answer).toMatchObject({ status, type: 'application/problem+json', body: { status, code } });
    expect(JSON.stringify(answer.body)).not.toContain('secret');
    expect(answered.at(-1)).toMatchObject({ route: 'updates', status });
  });

  it('refuses other methods, bodies and paths as problems', async () => {
    expect(await get('/api/updates', { method: 'POST', body: 'x' })).toMatchObject({
      status: 405,
      allow: 'GET, HEAD',
      type: 'application/problem+json',
    });
    expect(await get('/api/nothing')).toMatchObject({ status: 404, body: { code: 'ROUTE_UNKNOWN' } });
    expect(await get('/api')).toMatchObject({ status: 404, body: { code: 'ROUTE_UNKNOWN' } });
    expect(reads).toEqual([]);
    const withBody = await new Promise<number | undefined>((resolve, reject) => {
      ask(`${server.url}/api/updates`, { method: 'GET', headers: { 'content-length': '1' } }, (response) => {
        response.resume();
        resolve(response.statusCode);
      })
        .once('error', reject)
        .end('x');
    });
    expect(withBody).toBe(413);
  });

  it('refuses more than a hundred pending requests of one token, and serves other tokens', async () => {
    const headers = { authorization: 'first' };
    const pending = Array.from({ length: maxPending }, () => get('/api/updates', { headers }));
    await waitFor('all requests', () => (arrived === maxPending ? true : undefined));
    expect(await get('/api/updates', { headers })).toMatchObject({ status: 429, body: { code: 'BUSY' } });
    const other = get('/api/coverage', { headers: { authorization: 'second' } });
    await waitFor('the other request', () => (arrived === maxPending + 2 ? true : undefined));
    const order: string[] = [];
    for (let done = 0; done <= maxPending; done += 1) {
      const read = await waitFor('a read', () => reads.shift());
      order.push(read.request.route);
      read.finish({ offset: 1, rows: [] });
    }
    // Two reads had begun, and the first token may have the next turn. A hundred requests came before.
    expect(order.indexOf('coverage')).toBeLessThan(4);
    expect((await other).status).toBe(200);
    expect(new Set((await Promise.all(pending)).map(({ status }) => status))).toEqual(new Set([200]));
  });
});
