/**
 * The HTTP endpoints under hostile clients: slow requests, large requests and many connections. The tests use raw
 * sockets without a client library.
 */
import { spawnSync } from 'node:child_process';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Gauge } from 'prom-client';
import { loadConfig } from '../../src/config/config.ts';
import { CheckpointWaiters } from '../../src/observe/health/checkpoint-waiters.ts';
import { HealthTracker } from '../../src/observe/health/health-tracker.ts';
import { startHttpServer, type RunningHttpServer } from '../../src/observe/http/http-server.ts';
import { createMetrics, type Metrics } from '../../src/observe/metrics/metrics.ts';
import { needs } from '../support/skips/needs.ts';
import { pause } from '../support/wait-for.ts';

let server: RunningHttpServer;
let waiters: CheckpointWaiters;
let metrics: Metrics;
const sockets: Socket[] = [];
beforeEach(async () => {
  waiters = new CheckpointWaiters();
  metrics = createMetrics({ version: '1.2.3' });
  const health = new HealthTracker({ version: '1.2.3', schema: 'ledger', stalledAfterMs: 1000 });
  server = await startHttpServer({
    host: loadConfig({}).indexer.httpHost,
    port: 0,
    metrics,
    status: () => health.status(),
    verdict: () => health.verdict(),
    waiters,
    names: ['indexer.example'],
  });
});
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await server.close();
});

/** A program that opens this number of connections to a port, and exits when the system has accepted all of them. */
const connects = `
  const [port, count] = process.argv.slice(1).map(Number);
  let connected = 0;
  for (let nth = 0; nth < count; nth += 1) {
    require('node:net').connect(port, '127.0.0.1', () => ++connected === count && process.exit(0));
  }`;
/** Maximum length of the accept queue of the system. It is known only on Linux, otherwise 0. */
const maxBacklog = process.platform === 'linux' ? Number(readFileSync('/proc/sys/net/core/somaxconn', 'utf8')) : 0;

interface RawConnection {
  readonly socket: Socket;
  /** Output of the server so far. */
  readonly heard: () => string;
  /** Resolves when the server has closed the connection. */
  readonly closed: Promise<void>;
}

function openRawConnection(text: string): RawConnection {
  const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
  sockets.push(socket);
  let received = '';
  socket.setEncoding('latin1').on('data', (chunk: string) => (received += chunk));
  socket.on('error', () => undefined);
  const whenClosed = new Promise<void>((resolve) => socket.on('close', () => resolve()));
  if (text !== '') socket.write(text);
  return { socket, heard: () => received, closed: whenClosed };
}

async function responseTo(text: string): Promise<string> {
  const { heard: readReceived, closed: whenClosed } = openRawConnection(text);
  await whenClosed;
  return readReceived();
}

const head = (line: string, ...headers: string[]): string =>
  `${[line, 'Host: localhost', ...headers, 'Connection: close'].join('\r\n')}\r\n\r\n`;

it('HTTP endpoints listen only on the loopback interface by default', () => {
  expect(new URL(server.url).hostname).toBe('127.0.0.1');
});

describe('HTTP server', () => {
  it('returns a body to GET and none to HEAD', async () => {
    expect(await responseTo(head('GET /livez HTTP/1.1'))).toMatch(/^HTTP\/1.1 200 [^]*"live":true/);
    const response = await responseTo(head('HEAD /livez HTTP/1.1'));
    expect(response).toMatch(/^HTTP\/1.1 200 /);
    expect(response).not.toContain('"live"');
  });

  it.each(['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE', 'PROPFIND'])('returns 405 to %s', async (method) => {
    expect(await responseTo(head(`${method} /metrics HTTP/1.1`))).toMatch(/^HTTP\/1.1 405 [^]*allow: GET, HEAD/i);
  });

  it.each(['CONNECT x:443 HTTP/1.1', 'HELLO / HTTP/1.1', 'GET / HTTP/9.9', '\u0000\u0001'])(
    'rejects the request line %j',
    async (line) => {
      expect(await responseTo(head(line))).not.toMatch(/^HTTP\/1.1 200/);
    },
  );

  it.each([
    ['a Content-Length', 'Content-Length: 1000000000'],
    ['chunked Transfer-Encoding', 'Transfer-Encoding: chunked'],
  ])('returns 413 to a request with %s', async (_, header) => {
    const hostTalk = openRawConnection(head('GET /status HTTP/1.1', header).replace('Connection: close\r\n', ''));
    // The client never sends the body, so a server that waited for it would not close the connection.
    await hostTalk.closed;
    expect(hostTalk.heard()).toMatch(/^HTTP\/1.1 413 /);
  });
});

describe('HTTP server limits', () => {
  it.each(['X: nothing', 'Expect: nothing'])('drop pipelined requests with the header %j', async (header) => {
    let made = 0;
    const count = (): void => void (made += 1);
    subscribe('http.server.request.start', count);
    try {
      await responseTo(`GET /livez HTTP/1.1\r\nHost: localhost\r\n${header}\r\n\r\n`.repeat(900));
      expect(made).toBe(2);
    } finally {
      unsubscribe('http.server.request.start', count);
    }
  });

  it('close a connection with an unsupported Expect header after one response', async () => {
    const request = 'GET /livez HTTP/1.1\r\nHost: localhost\r\nExpect: nothing\r\n\r\n';
    expect(await responseTo(request)).toMatch(/^HTTP\/1.1 417 [^]*connection: close/i);
    const answers = (await responseTo(request.repeat(500))).match(/HTTP\/1.1 417 /g) ?? [];
    expect(answers.length).toBeLessThanOrEqual(1);
  });

  it('reject headers and URLs of more than 8 KiB', async () => {
    expect(await responseTo(head('GET /livez HTTP/1.1', `X: ${'x'.repeat(9_000)}`))).toMatch(/^HTTP\/1.1 431 /);
    expect(await responseTo(head(`GET /livez?${'x'.repeat(9_000)} HTTP/1.1`))).toMatch(/^HTTP\/1.1 431 /);
  });

  it('disconnect silent and slow clients within seconds, while others are served', async () => {
    const silent = openRawConnection('');
    const slow = openRawConnection('GET /livez HTTP/1.1\r\nHost: x\r\n');
    const drip = setInterval(() => slow.socket.write('X-a: b\r\n'), 200);
    try {
      const closed = Promise.all([silent.closed, slow.closed]).then(() => true);
      let served = 0;
      do {
        expect((await fetch(`${server.url}/livez`)).status).toBe(200);
        served += 1;
      } while (!(await Promise.race([closed, pause(100, false)])));
      expect(served).toBeGreaterThan(1);
      expect(slow.heard()).not.toContain('200 OK');
    } finally {
      clearInterval(drip);
    }
  });

  it('keep probes available during 1,400 incomplete requests', async () => {
    const open = async (count: number): Promise<void> => {
      const opened = Array.from({ length: count }, () =>
        openRawConnection('GET /livez HTTP/1.1\r\nHost: localhost\r\nX: '),
      );
      await Promise.all(
        opened.map(({ socket }) => new Promise((resolve) => socket.once('connect', resolve).once('close', resolve))),
      );
    };
    await open(1_400);
    for (const path of ['/livez', '/readyz', '/livez', '/metrics']) {
      await open(50);
      const answer = await fetch(`${server.url}${path}`, { headers: { connection: 'close' } });
      expect([path, answer.status]).toEqual([path, path === '/readyz' ? 503 : 200]);
    }
  });

  const noRoom = maxBacklog < 1_000 ? 'needs net.core.somaxconn of at least 1000' : undefined;
  it('queue a thousand connections while the event loop is busy', needs(noRoom), () => {
    const { port } = new URL(server.url);
    // This call blocks the process. With a full queue, the system would drop connections, and retry them after seconds.
    const { status } = spawnSync(process.execPath, ['--eval', connects, port, '1000'], { timeout: 30_000 });
    expect(status).toBe(0);
  });

  it('disconnect a client that does not read its response', async () => {
    const bytes = 32 * 1024 * 1024;
    metrics.registry.registerMetric(new Gauge({ name: 'large', help: 'x'.repeat(bytes), registers: [] }));
    const unread = openRawConnection('');
    unread.socket.pause();
    unread.socket.write('GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n');
    // A client that waits for a response does not count as one that does not read it.
    const waiting = openRawConnection(head('GET /wait?offset=9&timeout=7 HTTP/1.1'));
    await waiting.closed;
    expect(waiting.heard()).toMatch(/^HTTP\/1.1 504 /);
    // Buffered data still arrives, but the remaining data does not.
    unread.socket.resume();
    await unread.closed;
    expect(unread.heard()).toMatch(/^HTTP\/1.1 200 /);
    expect(unread.heard().length).toBeLessThan(bytes);
  });

  it('close a connection with a second request before the first response', async () => {
    const request = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`;
    const floods = Array.from({ length: 16 }, () => openRawConnection(request('/metrics').repeat(990)));
    const behind = openRawConnection(request('/wait?offset=9&timeout=60'));
    await vi.waitUntil(() => waiters.size === 1, 40_000);
    behind.socket.write(request('/livez'));
    await Promise.all([...floods, behind].map(({ closed }) => closed));
    for (const { heard } of floods) expect(heard().split('HTTP/1.1 200 ').length - 1).toBeLessThanOrEqual(1);
    expect(behind.heard()).toBe('');
    await vi.waitUntil(() => waiters.size === 0, 40_000);
    expect((await fetch(`${server.url}/livez`)).status).toBe(200);
  });

  it('allow consecutive requests on one connection', async () => {
    const kept = openRawConnection('');
    for (let nth = 1; nth <= 5; nth += 1) {
      kept.socket.write('GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n');
      const isComplete = (): boolean =>
        kept.heard().split('HTTP/1.1 200 ').length === nth + 1 && kept.heard().endsWith('\r\n0\r\n\r\n');
      await vi.waitUntil(isComplete, 40_000);
    }
  });

  it('reject a request with two Host headers', async () => {
    const request = head('GET /status HTTP/1.1', 'Host: 127.0.0.1');
    expect(await responseTo(request)).toMatch(/^HTTP\/1.1 400 /);
  });

  it('keep a waiting client connected despite 600 idle clients', async () => {
    const waiting = openRawConnection(
      'GET /wait?offset=9&timeout=2 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n',
    );
    await vi.waitUntil(() => waiters.size === 1, 40_000);
    for (let nth = 0; nth < 600; nth += 1) openRawConnection('GET /');
    await waiting.closed;
    expect(waiting.heard()).toMatch(/^HTTP\/1.1 504 /);
  });
});

describe('Host header check', () => {
  const requestTo = (path: string, host: string): Promise<string> =>
    responseTo(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
  const guarded = ['/', '/events', '/status', '/metrics', '/wait?offset=0', '/nothing'];

  it.each([
    'evil.example',
    'evil.example:7580',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    'indexer.example.evil',
  ])('returns 421 to a request for %s', async (host) => {
    for (const path of guarded) {
      expect(await requestTo(path, host), path).toMatch(/^HTTP\/1.1 421 [^]*INDEXER_HTTP_ALLOWED_HOSTS/);
    }
  });

  it.each([
    '127.0.0.1:7580',
    '10.1.2.3',
    '[::1]:7580',
    'localhost:1',
    'LOCALHOST',
    'indexer.example:7580',
    'Indexer.Example.',
  ])('accepts %s', async (host) => {
    expect(await requestTo('/status', host)).toMatch(/^HTTP\/1.1 200 /);
  });

  it('accepts probes with any host name, but returns the reason only for configured names', async () => {
    const why = /"reason":"not connected yet"/;
    const verdict = /^{"ready":false,"live":true}\r?$/m;
    for (const [path, status] of Object.entries({ '/livez': 200, '/readyz': 503 })) {
      const answer = await requestTo(path, 'balancer.example');
      expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
      expect(answer).toMatch(verdict);
    }
    for (const path of ['/livez', '/readyz']) {
      expect(await requestTo(path, 'indexer.example')).toMatch(why);
      expect(await requestTo(path, '127.0.0.1:7580')).toMatch(why);
    }
  });
});
