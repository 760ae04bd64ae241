/** Tests one delivery to a faulty receiver, or to a host name that resolves to a forbidden address. */
import { createServer, type Server, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { readFileSync } from 'node:fs';
import type { LookupAddress } from 'node:dns';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebhookSender, type DeliveryResult, type PosterOptions } from '../../src/webhooks/post.ts';
import type { Resolve } from '../../src/webhooks/reach.ts';

/** Timeout for receivers that do not respond. */
const timeoutMs = 1_000;
/** Timeout for all other receivers, longer than needed on a busy machine. */
const longMs = 30_000;
const megabyte = Buffer.alloc(1024 * 1024);
/** Receivers by path, with their response after the event was read. */
const receivers: Readonly<Record<string, (response: ServerResponse) => void>> = {
  '/fine': (response) => void response.writeHead(204).end(),
  '/broken': (response) => void response.writeHead(500, { 'retry-after': '7' }).end('no'),
  '/busy': (response) => void response.writeHead(429, { 'retry-after': '7' }).end(),
  '/gone': (response) => void response.writeHead(410).end(),
  '/moved': (response) => void response.writeHead(307, { location: '/fine' }).end(),
  '/hangs': () => undefined,
  '/hangs-in-its-answer': (response) => void response.writeHead(200, { 'content-length': '9' }).write('ok'),
  '/closes': (response) => void response.destroy(),
  '/closes-half-way': (response) => {
    response.writeHead(200, { 'content-length': '9' }).write('ok', () => response.destroy());
  },
  // Each response is one packet, so that data after the response is read together with it.
  '/fine-with-a-body': (response) => void response.socket?.end('HTTP/1.1 204 No Content\r\n\r\n{"ok":true}'),
  '/fine-and-more': (response) =>
    void response.socket?.end('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok and more\r\n\r\n'),
  '/fine-in-bad-chunks': (response) =>
    void response.socket?.end('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nno chunk\r\n'),
  '/gone-and-more': (response) => void response.socket?.end('HTTP/1.1 410 Gone\r\ncontent-length: 0\r\n\r\ngone\r\n'),
  '/busy-and-more': (response) =>
    void response.socket?.end('HTTP/1.1 503 Busy\r\nretry-after: 7\r\ncontent-length: 0\r\n\r\nlater\r\n'),
  '/is-no-http': (response) => void response.socket?.end('it works\r\n\r\n'),
  '/ten-megabytes': (response) => {
    response.writeHead(200);
    for (let sentCount = 0; sentCount < 10; sentCount += 1) response.write(megabyte);
    response.end();
  },
  '/endless-hints': (response) => {
    const { socket } = response;
    const hints = 'HTTP/1.1 103 Early Hints\r\nlink: </a>; rel=preload\r\n\r\n'.repeat(1_000);
    const writeMore = (): void => {
      if (socket?.destroyed === false) socket.write(hints, writeMore);
    };
    writeMore();
  },
  '/one-hint': (response) => {
    response.socket?.write('HTTP/1.1 103 Early Hints\r\n\r\n');
    response.writeHead(204).end();
  },
  '/endless-chunks': (response) => {
    response.writeHead(200);
    const { socket } = response;
    const chunks = '1\r\nx\r\n'.repeat(100);
    const writeMore = (): void => {
      if (socket?.destroyed === false) chunked += chunks.length;
      if (socket?.destroyed === false) socket.write(chunks, () => setImmediate(writeMore));
    };
    response.flushHeaders();
    writeMore();
  },
  '/endless': (response) => {
    response.writeHead(200);
    const writeMore = (): void => {
      if (!response.destroyed) response.write(megabyte, writeMore);
    };
    writeMore();
  },
};
/** Number of bytes that an endless receiver could write before the connection was closed. */
let chunked = 0;
const requestedPaths: string[] = [];
let server: Server;
let port = 0;

async function listenOnPort(startingServer: Server): Promise<number> {
  await new Promise<void>((resolve) => {
    startingServer.listen(0, '127.0.0.1', resolve);
  });
  return (startingServer.address() as AddressInfo).port;
}

beforeAll(async () => {
  server = createServer((request, response) => {
    request.resume().once('end', () => {
      requestedPaths.push(request.url ?? '');
      receivers[request.url ?? '']?.(response);
    });
  });
  port = await listenOnPort(server);
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

async function postTo(url: string, options: Partial<PosterOptions> = {}): Promise<DeliveryResult> {
  const webhookPoster = new WebhookSender({ reach: 'loopback', connections: 2, timeoutMs: longMs, ...options });
  const response = await webhookPoster.post({ url, headers: {}, body: '{}' });
  webhookPoster.close();
  return response;
}

const refusedResult = (problem: string) => ({ kind: 'refused', problem, retryAfterMs: undefined });
const cutResult = (problem: string) => ({ ...refusedResult(problem), isCut: true });

describe('Poster.post()', () => {
  it.each<[string, DeliveryResult | ReturnType<typeof refusedResult>]>([
    ['/fine', { kind: 'delivered' }],
    ['/broken', { kind: 'refused', problem: 'status 500', retryAfterMs: 7_000 }],
    ['/busy', { kind: 'away', problem: 'status 429', retryAfterMs: 7_000 }],
    ['/gone', { kind: 'gone' }],
    ['/moved', refusedResult('status 307, and redirects are not followed')],
    ['/hangs', refusedResult(`no response within ${String(timeoutMs)} ms`)],
    // Only the status decides the outcome.
    ['/hangs-in-its-answer', { kind: 'delivered' }],
    ['/closes-half-way', { kind: 'delivered' }],
    ['/ten-megabytes', { kind: 'delivered', isCut: true }],
    ['/endless', { kind: 'delivered', isCut: true }],
    ['/endless-chunks', { kind: 'delivered', isCut: true }],
    ['/one-hint', { kind: 'delivered' }],
    ['/endless-hints', cutResult('no response: more than 8 informational responses (1xx), and no other')],
    ['/closes', refusedResult('no response: ECONNRESET')],
    ['/fine-with-a-body', { kind: 'delivered' }],
    ['/fine-and-more', { kind: 'delivered' }],
    ['/fine-in-bad-chunks', { kind: 'delivered' }],
    ['/gone-and-more', { kind: 'gone' }],
    ['/busy-and-more', { kind: 'away', problem: 'status 503', retryAfterMs: 7_000 }],
    ['/is-no-http', cutResult('no response: HPE_INVALID_CONSTANT')],
  ])('returns the outcome for the response of %s', async (path, expected) => {
    requestedPaths.length = 0;
    const limit = { timeoutMs: path.startsWith('/hangs') ? timeoutMs : longMs };
    expect(await postTo(`http://127.0.0.1:${String(port)}${path}`, limit)).toEqual(expected);
    expect(requestedPaths).toEqual([path]);
  });

  it('stops reading an endless response of one-byte chunks at a limit', async () => {
    chunked = 0;
    await postTo(`http://127.0.0.1:${String(port)}/endless-chunks`);
    expect(chunked).toBeGreaterThan(0);
    expect(chunked).toBeLessThan(64 * 1024);
  });

  it('reports a refused connection as unavailable', async () => {
    const whenClosed = createServer();
    const unusedPort = await listenOnPort(whenClosed);
    await new Promise((resolve) => whenClosed.close(resolve));
    expect(await postTo(`http://127.0.0.1:${String(unusedPort)}/`)).toMatchObject({
      kind: 'away',
      problem: 'no response: ECONNREFUSED',
    });
  });

  it('reports an untrusted certificate as unavailable and sends nothing', async () => {
    const file = (name: string) => readFileSync(join(import.meta.dirname, '../support/certificates', name));
    const calls: string[] = [];
    const secure = createHttpsServer(
      { cert: file('server.pem'), key: file('server-key.pem') },
      (request, response) => void response.end(calls.push(request.url ?? '')),
    );
    const url = `https://127.0.0.1:${String(await listenOnPort(secure))}/`;
    const serverResponse = await postTo(url);
    expect(serverResponse).toMatchObject({ kind: 'away', problem: expect.stringMatching(/CERT|SIGN|VERIFY/) });
    expect(calls).toEqual([]);
    secure.closeAllConnections();
    secure.close();
  });
});

describe('Poster.post() to a host name', () => {
  const url = () => `http://hooks.localhost:${String(port)}/fine`;
  /** Resolves each query to the next list of addresses, and to the last list after that. */
  const resolving = (...addressLists: readonly string[][]) => {
    const lookups: string[] = [];
    const resolve: Resolve = (hostname, _options, callback) => {
      const addresses = addressLists[Math.min(lookups.length, addressLists.length - 1)] ?? [];
      lookups.push(hostname);
      callback(
        null,
        addresses.map((address): LookupAddress => ({ address, family: address.includes(':') ? 6 : 4 })),
      );
    };
    return { questions: lookups, resolve };
  };

  it.each<[string, PosterOptions['reach'], string[], string]>([
    ['a loopback address', 'private', ['127.0.0.1'], 'this machine'],
    ['a private address', 'public', ['10.0.0.1'], 'a private network'],
    ['the metadata address of cloud providers', 'loopback', ['169.254.169.254'], 'no receiver'],
    ['a loopback address and a forbidden one', 'loopback', ['127.0.0.1', '169.254.169.254'], 'no receiver'],
    ['a private address, without TLS', 'loopback', ['10.0.0.1'], 'not encrypted'],
    ['no address', 'loopback', [], 'it has no address'],
  ])('opens no connection if the name resolves to %s', async (_caseName, webhookReach, addresses, problem) => {
    requestedPaths.length = 0;
    const response = await postTo(url(), { reach: webhookReach, ...resolving(addresses) });
    expect(response).toMatchObject({ kind: 'away', problem: expect.stringContaining(problem) });
    expect(requestedPaths).toEqual([]);
  });

  it('checks the resolved address for each new connection', async () => {
    requestedPaths.length = 0;
    const { questions: lookups, resolve } = resolving(['127.0.0.1'], ['169.254.169.254']);
    const webhookPoster = new WebhookSender({ reach: 'loopback', connections: 1, timeoutMs: longMs, resolve });
    const posted = { url: url(), headers: {}, body: '{}' };
    expect(await webhookPoster.post(posted)).toEqual({ kind: 'delivered' });
    // The second event uses the same connection to the checked address.
    expect(await webhookPoster.post(posted)).toEqual({ kind: 'delivered' });
    expect(lookups).toEqual(['hooks.localhost']);
    server.closeAllConnections();
    // The end of the first connection may be detected only with the next event.
    const [, laterResult] = [await webhookPoster.post(posted), await webhookPoster.post(posted)];
    expect(laterResult).toMatchObject({
      kind: 'away',
      problem: 'its address is refused: no receiver may have this address',
    });
    expect(requestedPaths).toEqual(['/fine', '/fine']);
    webhookPoster.close();
  });
});
