/** The status page and its events over HTTP: their content, the number of viewers, and viewers that do not read. */
import type { ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it, vi } from 'vitest';

import { IndexerError } from '../../src/errors/indexer-error.ts';
import { CheckpointWaiters } from '../../src/observe/health/checkpoint-waiters.ts';
import { HealthTracker } from '../../src/observe/health/health-tracker.ts';
import { startHttpServer, type RunningHttpServer } from '../../src/observe/http/http-server.ts';
import { createMetrics } from '../../src/observe/metrics/metrics.ts';
import type { ReadRecentFacts, RecentFacts } from '../../src/observe/page/recent-facts.ts';
import { StatusPage } from '../../src/observe/page/status-page.ts';
import { stopClock } from '../support/chance/clock.ts';
import { waitFor } from '../support/wait-for.ts';

const everyMs = 20;
const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of cleanups.splice(0).toReversed()) await end();
});

const facts: RecentFacts = {
  templates: [{ name: 'a:B:C', active: 3 }],
  updates: [{ offset: 7, kind: 'transaction', recordTime: null, events: 2, templates: ['a:B:C'] }],
};

interface StartedServer {
  readonly server: RunningHttpServer;
  readonly page: StatusPage;
  readonly health: HealthTracker;
}

async function start(readRecent: ReadRecentFacts = () => Promise.resolve(facts)): Promise<StartedServer> {
  const health = new HealthTracker({ version: '1.2.3', schema: 'ledger', stalledAfterMs: 1000 });
  const guide = { connect: "psql 'postgres://reader@db.example/ledger'", password: 'Ask.', queries: ['select 1;'] };
  const page = new StatusPage({ health, readRecent, guide, everyMs });
  const server = await startHttpServer({
    host: '127.0.0.1',
    port: 0,
    metrics: createMetrics({ version: '1.2.3' }),
    status: () => health.status(),
    verdict: () => health.verdict(),
    waiters: new CheckpointWaiters(),
    page,
  });
  cleanups.push(() => server.close());
  return { server, page, health };
}

interface Listener {
  readonly response: Response;
  /** Returns the next event with parsed data, or undefined at the end. */
  next(): Promise<{ readonly event: string; readonly data: Data } | undefined>;
}

/** Fields of an event that the tests compare. */
interface Data {
  readonly guide?: object;
  readonly samples?: readonly unknown[];
  readonly status?: { readonly state: string; readonly errors: readonly unknown[] };
  readonly recent?: {
    readonly templates: object | null;
    readonly updates: readonly unknown[] | null;
    readonly failure: string | null;
  };
}

async function listen(server: RunningHttpServer): Promise<Listener> {
  const stop = new AbortController();
  cleanups.push(() => stop.abort());
  const response = await fetch(`${server.url}/events`, { signal: stop.signal });
  const messages = messagesOf(response);
  return { response, next: async () => (await messages.next()).value ?? undefined };
}

async function* messagesOf(response: Response): AsyncGenerator<{ event: string; data: Data }, undefined> {
  let text = '';
  for await (const chunk of response.body ?? []) {
    text += Buffer.from(chunk as Uint8Array).toString();
    const blocks = text.split('\n\n');
    text = blocks.pop() ?? '';
    for (const block of blocks) {
      const eventMatch = /^event: (.*)\ndata: (.*)$/m.exec(block);
      if (eventMatch !== null) yield { event: eventMatch[1] ?? '', data: JSON.parse(eventMatch[2] ?? '') as Data };
    }
  }
  return undefined;
}

describe('status page', () => {
  it('allows only its own style, script and events in its content security policy', async () => {
    const { server } = await start();
    const response = await fetch(server.url);
    const html = await response.text();
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(response.headers.get('content-security-policy')).toMatch(
      /^default-src 'none'; script-src 'sha256-[\w+/=]+'; style-src 'sha256-[\w+/=]+'; connect-src 'self'; /,
    );
    expect(html).not.toMatch(/(?:src|href)="(?!data:|#|(?:status|metrics|readyz|query)")/);
    expect(html).not.toMatch(/@import|url\(|^import /m);
    expect(html).not.toContain('/* style */');
  });

  it('accepts only GET and HEAD', async () => {
    const { server } = await start();
    for (const path of ['/', '/events']) {
      expect((await fetch(server.url + path, { method: 'POST' })).status).toBe(405);
      const head = await fetch(server.url + path, { method: 'HEAD' });
      expect([head.status, await head.text()]).toEqual([200, '']);
    }
  });
});

describe('GET /events', () => {
  it('begins with earlier measurements and continues with new ones', async () => {
    const { server, health } = await start();
    // This waits until the page has measurements.
    await waitFor('three samples', async () => {
      const hello = await (await listen(server)).next();
      return (hello?.data.samples?.length ?? 0) > 2 ? true : undefined;
    });
    const listener = await listen(server);
    expect(listener.response.headers.get('content-type')).toContain('text/event-stream');
    const hello = await listener.next();
    expect(hello).toMatchObject({ event: 'hello', data: { guide: { queries: ['select 1;'] } } });
    expect(hello?.data.samples?.length).toBeGreaterThan(2);
    health.phaseChanged('live', undefined);
    health.failed(new IndexerError('no answer', { code: 'LEDGER_UNREACHABLE', retry: 'retry', remedy: 'look' }));
    await waitFor('a message with the new facts', async () => {
      const { status, recent: recentActivity } = (await listener.next())?.data ?? {};
      if (status?.state !== 'live' || !Array.isArray(recentActivity?.templates)) return undefined;
      expect(status.errors).toMatchObject([{ code: 'LEDGER_UNREACHABLE', remedy: 'look', count: 1 }]);
      expect(recentActivity).toMatchObject({ templates: [{ name: 'a:B:C', active: 3, rate: 0 }], failure: null });
      return true;
    });
  });

  it('sends the last facts and the error if the database fails, and reads one at a time', async () => {
    let readCount = 0;
    let runningCount = 0;
    let maxSeen = 0;
    let fail = false;
    let ticks = 0;
    const { server } = await start(async () => {
      readCount += 1;
      maxSeen = Math.max(maxSeen, (runningCount += 1));
      const targetTicks = ticks + 5;
      await waitFor('five messages', () => (ticks >= targetTicks ? true : undefined));
      runningCount -= 1;
      if (fail) throw new IndexerError('gone', { code: 'STORE_UNREACHABLE', retry: 'retry' });
      return facts;
    });
    expect(readCount).toBe(0);
    const listener = await listen(server);
    const recentActivity = async (): Promise<Data['recent']> => {
      const { event, data } = (await listener.next()) ?? {};
      if (event === 'tick') ticks += 1;
      return data?.recent;
    };
    await waitFor('facts', async () => ((await recentActivity())?.updates?.length === 1 ? true : undefined));
    fail = true;
    await waitFor('the failure', async () => {
      const { failure, updates } = (await recentActivity()) ?? {};
      return failure === 'STORE_UNREACHABLE' && updates?.length === 1 ? true : undefined;
    });
    const readsBefore = readCount;
    await waitFor('two reads more', async () => {
      await recentActivity();
      return readCount >= readsBefore + 2 ? true : undefined;
    });
    expect(maxSeen).toBe(1);
  });

  it('reads the database once per interval, even if pages open and close frequently', async () => {
    const clock = stopClock();
    let readCount = 0;
    const { server } = await start(() => {
      readCount += 1;
      return Promise.resolve(facts);
    });
    const openPages = async (times: number): Promise<void> => {
      for (let openCount = 0; openCount < times; openCount += 1) {
        const abortController = new AbortController();
        await fetch(`${server.url}/events`, { signal: abortController.signal });
        abortController.abort();
      }
    };
    await openPages(30);
    expect(readCount).toBe(1);
    clock.advance(everyMs);
    await openPages(30);
    expect(readCount).toBe(2);
  });

  it('ends when the server closes', async () => {
    const { server } = await start();
    const listener = await listen(server);
    await listener.next();
    await server.close();
    let last;
    for (let next = await listener.next(); next !== undefined; next = await listener.next()) last = next;
    expect(last?.event).toBe('bye');
  });

  it('serves at most fifty viewers, and reuses a free slot', async () => {
    const { server, page } = await start();
    const abortControllers = Array.from({ length: 50 }, () => new AbortController());
    cleanups.push(() => abortControllers.forEach((stop) => stop.abort()));
    await Promise.all(abortControllers.map(({ signal }) => fetch(`${server.url}/events`, { signal })));
    const refusedResponse = await fetch(`${server.url}/events`);
    expect([refusedResponse.status, refusedResponse.headers.get('retry-after')]).toEqual([503, '10']);
    abortControllers[0]?.abort();
    await waitFor('a free place', () => (page.viewers < 50 ? true : undefined));
    expect((await (await listen(server)).next())?.event).toBe('hello');
  });

  it('releases all slots when a connection with sixty requests closes', async () => {
    const { server, page } = await start();
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
    cleanups.push(() => socket.destroy());
    socket.on('error', () => undefined).write('GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(60));
    await new Promise((resolve) => socket.once('close', resolve));
    await waitFor('no viewer', () => (page.viewers === 0 ? true : undefined));
  });

  it('disconnects a viewer that does not read, and continues for other viewers', async () => {
    const largeSnapshot = {
      templates: [],
      updates: Array.from({ length: 300 }, () => ({ ...facts.updates[0]!, kind: 'x'.repeat(2_000) })),
    };
    const { server, page } = await start(() => Promise.resolve(largeSnapshot));
    const socket: Socket = connect(Number(new URL(server.url).port), '127.0.0.1');
    cleanups.push(() => socket.destroy());
    socket.on('error', () => undefined);
    socket.pause();
    const responses: ServerResponse[] = [];
    const answerEvents = page.answerEvents.bind(page);
    vi.spyOn(page, 'answerEvents').mockImplementation((request, response) => {
      responses.push(response);
      answerEvents(request, response);
    });
    socket.write('GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await waitFor('the viewer', () => (page.viewers === 1 ? true : undefined));
    // On a busy machine, this viewer may also be too slow and be disconnected. Then another viewer reads.
    let listener = await listen(server);
    const waitForEvent = async (): Promise<string | undefined> => {
      const next = await listener.next().catch(() => undefined);
      if (next === undefined) listener = await listen(server);
      return next?.event;
    };
    await waitFor('the end of the one that does not read', async () => {
      await waitForEvent();
      return responses[0]?.destroyed === true ? true : undefined;
    });
    await waitFor('a message for the other', async () => ((await waitForEvent()) === 'tick' ? true : undefined));
  });
});
