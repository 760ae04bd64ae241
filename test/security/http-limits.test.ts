/** The endpoints against clients that mean harm: slow ones, large ones, many of them. Raw sockets, no client in between. */
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/config.ts';
import { CheckpointWaiters } from '../../src/observe/checkpoint-waiters.ts';
import { HealthTracker } from '../../src/observe/health-tracker.ts';
import { startHttpServer, type RunningHttpServer } from '../../src/observe/http-server.ts';
import { createMetrics } from '../../src/observe/metrics.ts';

let server: RunningHttpServer;
const sockets: Socket[] = [];
beforeEach(async () => {
  const health = new HealthTracker({ version: '1.2.3', schema: 'ledger', stalledAfterMs: 1000 });
  server = await startHttpServer({
    host: loadConfig([], {}).indexer.httpHost,
    port: 0,
    metrics: createMetrics({ version: '1.2.3' }),
    status: () => health.status(),
    verdict: () => health.verdict(),
    waiters: new CheckpointWaiters(),
  });
});
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await server.close();
});

interface Talk {
  readonly socket: Socket;
  /** What the server said so far. */
  readonly heard: () => string;
  /** Milliseconds until the server closed. */
  readonly closed: Promise<number>;
}

function talk(text: string): Talk {
  const start = performance.now();
  const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
  sockets.push(socket);
  let heard = '';
  socket.setEncoding('latin1').on('data', (part: string) => (heard += part));
  socket.on('error', () => undefined);
  const closed = new Promise<number>((resolve) => socket.on('close', () => resolve(performance.now() - start)));
  if (text !== '') socket.write(text);
  return { socket, heard: () => heard, closed };
}

async function said(text: string): Promise<string> {
  const { heard, closed } = talk(text);
  await closed;
  return heard();
}

const head = (line: string, ...headers: string[]): string =>
  `${[line, 'Host: x', ...headers, 'Connection: close'].join('\r\n')}\r\n\r\n`;

it('are bound to this machine alone unless told otherwise', () => {
  expect(new URL(server.url).hostname).toBe('127.0.0.1');
});

describe('what is answered', () => {
  it('GET with a body, HEAD without one', async () => {
    expect(await said(head('GET /livez HTTP/1.1'))).toMatch(/^HTTP\/1.1 200 [^]*"live":true/);
    const answer = await said(head('HEAD /livez HTTP/1.1'));
    expect(answer).toMatch(/^HTTP\/1.1 200 /);
    expect(answer).not.toContain('"live"');
  });

  it.each(['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE', 'PROPFIND'])('%s is refused', async (method) => {
    expect(await said(head(`${method} /metrics HTTP/1.1`))).toMatch(/^HTTP\/1.1 405 [^]*allow: GET, HEAD/i);
  });

  it.each(['CONNECT x:443 HTTP/1.1', 'HELLO / HTTP/1.1', 'GET / HTTP/9.9', '\u0000\u0001'])(
    'no connection survives %j',
    async (line) => {
      expect(await said(head(line))).not.toMatch(/^HTTP\/1.1 200/);
    },
  );

  it.each([
    ['a length', 'Content-Length: 1000000000'],
    ['chunks', 'Transfer-Encoding: chunked'],
  ])('no body is read, announced by %s', async (_, header) => {
    const talked = talk(head('GET /status HTTP/1.1', header).replace('Connection: close\r\n', ''));
    expect(await talked.closed).toBeLessThan(2_000);
    expect(talked.heard()).toMatch(/^HTTP\/1.1 413 /);
  });
});

describe('limits', () => {
  it('headers and addresses of more than 8 KiB are refused', async () => {
    expect(await said(head('GET /livez HTTP/1.1', `X: ${'x'.repeat(9_000)}`))).toMatch(/^HTTP\/1.1 431 /);
    expect(await said(head(`GET /livez?${'x'.repeat(9_000)} HTTP/1.1`))).toMatch(/^HTTP\/1.1 431 /);
  });

  it('a client that sends nothing, or a header byte by byte, is cut off within seconds; others are served', async () => {
    const silent = talk('');
    const slow = talk('GET /livez HTTP/1.1\r\nHost: x\r\n');
    const drip = setInterval(() => slow.socket.write('X-a: b\r\n'), 200);
    try {
      for (let second = 0; second < 3; second += 1) {
        await sleep(1_000);
        expect((await fetch(`${server.url}/livez`)).status).toBe(200);
      }
      const times = await Promise.all([silent.closed, slow.closed]);
      for (const time of times) {
        expect(time).toBeGreaterThan(4_000);
        expect(time).toBeLessThan(8_000);
      }
      expect(slow.heard()).not.toContain('200 OK');
    } finally {
      clearInterval(drip);
    }
  });

  it(
    'twelve hundred half-open clients do not keep the probes out for longer than that',
    { timeout: 30_000 },
    async () => {
      for (let nth = 0; nth < 1_200; nth += 1) talk('GET /livez HTTP/1.1\r\n');
      const start = performance.now();
      for (;;) {
        const answer = await fetch(`${server.url}/livez`, { headers: { connection: 'close' } }).catch(() => undefined);
        if (answer?.status === 200) break;
        expect(performance.now() - start).toBeLessThan(10_000);
        await sleep(200);
      }
    },
  );
});
