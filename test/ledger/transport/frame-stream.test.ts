import { createHash } from 'node:crypto';
import { createServer } from 'node:net';
import { once } from 'node:events';
import type { WebSocket } from 'ws';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { FrameStream, FrameStreamOptions } from '../../../src/ledger/transport/frame-stream.ts';
import { startFakeLedger, type FakeLedger, type FakeLedgerBehaviour } from '../fake-ledger.ts';
import { deferred } from '../../support/deferred.ts';
import { openRun, type StreamRun } from './stream-run.ts';

let ledger: FakeLedger | undefined;
let stream: FrameStream | undefined;
afterEach(async () => {
  stream?.close();
  await ledger?.stop();
  ledger = undefined;
});

function openStream(url: string, options?: Partial<FrameStreamOptions>): StreamRun {
  const run = openRun(url, options);
  stream = run.stream;
  return run;
}

async function serve(behavior: FakeLedgerBehaviour): Promise<string> {
  ledger = await startFakeLedger(behavior);
  return ledger.url;
}

const update = (offset: number): string => `{"update":{"OffsetCheckpoint":{"value":{"offset":${offset}}}}}`;
const expiredBody =
  '{"code":"ACCESS_TOKEN_EXPIRED","cause":"JWT token has expired","errorCategory":2,"grpcCodeValue":10}';

describe('stream handshake', () => {
  it('sends the token as header and first subprotocol, then the request as the first frame', async () => {
    let first = '';
    const url = await serve({
      socket: (socket, frame) => {
        first = frame;
        socket.close(1000);
      },
    });
    expect(await openStream(`${url}/prefix`, { token: 'a.b.c' }).ended).toBeUndefined();
    const handshake = ledger?.handshakes[0];
    expect(handshake?.url).toBe('/prefix/v2/updates');
    expect(handshake?.headers.authorization).toBe('Bearer a.b.c');
    expect(handshake?.headers['sec-websocket-protocol']).toBe('jwt.token.a.b.c,daml.ws.auth,ledger.ws.auth');
    expect(handshake?.headers['sec-websocket-extensions']).toBeUndefined();
    expect(first).toBe('{"beginExclusive":7}');
  });

  it('offers the fixed subprotocols even without a token', async () => {
    const url = await serve({ socket: (socket) => socket.close(1000) });
    expect(await openStream(url).ended).toBeUndefined();
    expect(ledger?.handshakes[0]?.headers['sec-websocket-protocol']).toBe('daml.ws.auth,ledger.ws.auth');
    expect(ledger?.handshakes[0]?.headers.authorization).toBeUndefined();
  });

  it.each([
    [
      '403 Forbidden',
      'application/json',
      '{"code":"NA","cause":"x","errorCategory":-1,"grpcCodeValue":7}',
      'LEDGER_PERMISSION_DENIED',
    ],
    ['401 Unauthorized', 'text/plain', 'no', 'LEDGER_UNAUTHENTICATED'],
    ['404 Not Found', 'text/html', '<html></html>', 'LEDGER_NOT_A_LEDGER'],
    ['503 Service Unavailable', 'text/plain', 'x'.repeat(200_000), 'LEDGER_UNAVAILABLE'],
  ])('is classified if the ledger responds with HTTP %s (%s)', async (status, type, body, code) => {
    const run = openStream(await serve({ refuse: { status, type, body } }));
    expect((await run.ended)?.code).toBe(code);
    expect(run.ends).toHaveLength(1);
  });

  it.each([
    ['from a gateway as an error to retry', 'text/html', '<html></html>', 'retry'],
    ['from a participant as an error that parks', 'application/json', '{"errors":["uri: /v2"],"status":404}', 'park'],
  ])('reports HTTP 404 %s', async (_, type, body, retry) => {
    const run = openStream(await serve({ refuse: { status: '404 Not Found', type, body } }));
    expect(await run.ended).toMatchObject({ code: 'LEDGER_NOT_A_LEDGER', retry });
  });

  it('reports an illegal token without printing it, a closed port and a non-HTTP port', async () => {
    const illegalToken = await openStream('http://127.0.0.1:9', { token: 'a b==' }).ended;
    expect(illegalToken?.code).toBe('LEDGER_TOKEN_MALFORMED');
    expect(`${illegalToken?.message}${String(illegalToken?.cause)}`).not.toContain('a b==');
    const otherServer = createServer((socket) => socket.resume().end('220 mail ready\r\n')).listen(0, '127.0.0.1');
    await once(otherServer, 'listening');
    const address = otherServer.address();
    const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`;
    expect((await openStream(url).ended)?.code).toBe('LEDGER_NOT_A_LEDGER');
    otherServer.close();
    await once(otherServer, 'close');
    expect((await openStream(url).ended)?.code).toBe('LEDGER_UNREACHABLE');
  });
});

describe('stream frames', () => {
  it('arrive as text in order until a clean close', async () => {
    const url = await serve({
      socket: (socket) => {
        for (const offset of [1, 2, 3]) socket.send(update(offset));
        socket.close(1000);
      },
    });
    const run = openStream(url);
    expect(await run.ended).toBeUndefined();
    expect(run.frames).toEqual([1, 2, 3].map(update));
  });

  it('end when the peer sends a close frame but leaves the connection open', async () => {
    const clientEnded = deferred();
    const halfOpenServer = createServer({ allowHalfOpen: true }, (socket) => {
      socket.on('error', () => undefined);
      socket.once('end', clientEnded.resolve);
      socket.once('data', (head) => {
        const key = /sec-websocket-key: (\S+)/i.exec(String(head))?.[1] ?? '';
        const accept = createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
        const lines = [
          'HTTP/1.1 101 x',
          'Upgrade: websocket',
          'Connection: Upgrade',
          `Sec-WebSocket-Accept: ${accept}`,
        ];
        socket.write(`${lines.join('\r\n')}\r\nSec-WebSocket-Protocol: daml.ws.auth\r\n\r\n`);
        // Sends a close frame with code 4001, and nothing after it.
        socket.write(Buffer.from([0x88, 0x02, 0x0f, 0xa1]));
      });
    });
    halfOpenServer.listen({ port: 0, host: '127.0.0.1' });
    await once(halfOpenServer, 'listening');
    const address = halfOpenServer.address();
    const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`;
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      const { ended: whenEnded } = openStream(url);
      await clientEnded.promise;
      // By default, the library waits 30 s for the end of the connection.
      await vi.advanceTimersByTimeAsync(1_500);
      expect(await whenEnded).toMatchObject({ code: 'LEDGER_STREAM_CLOSED', facts: { closeCode: 4001 } });
    } finally {
      vi.useRealTimers();
      halfOpenServer.close();
    }
  }, 30_000);

  it('end with the error of an error frame, even if a clean close follows', async () => {
    const url = await serve({
      socket: (socket) => {
        socket.send(update(1));
        socket.send(expiredBody);
        socket.close(1000);
      },
    });
    const run = openStream(url);
    expect(await run.ended).toMatchObject({ code: 'LEDGER_TOKEN_EXPIRED', retry: 'refresh-token' });
    expect(run.frames).toEqual([update(1)]);
    await vi.waitFor(() => {
      expect(ledger?.connections.every((socket) => socket.destroyed)).toBe(true);
    }, 40_000);
    expect(run.ends).toHaveLength(1);
  });

  it('are recognized as active contracts in any key order', async () => {
    const entries = ['{"workflowId":"","contractEntry":{}}', '{"contractEntry":{}}', '{ "x": 1, "contractEntry": {} }'];
    const url = await serve({
      socket: (socket) => {
        for (const entry of entries) socket.send(entry);
        socket.close(1000);
      },
    });
    const run = openStream(url, { path: '/v2/state/active-contracts' });
    expect(await run.ended).toBeUndefined();
    expect(run.frames).toEqual(entries);
  });

  it.each([
    ['/v2/updates/flats', '{"update":{"code":"x","cause":"y"}}'],
    ['/v2/updates/trees', '{"update":{"TransactionTree":{"value":{}}}}'],
    ['/v2/commands/completions', '{"completionResponse":{"Completion":{"value":{}}}}'],
    ['/v2/commands/command-completions', '{ "completionResponse":{}, "code":"x", "cause":"y" }'],
  ] as const)('contain data of %s until an error frame ends the stream', async (path, data) => {
    const url = await serve({
      socket: (socket) => {
        socket.send(data);
        socket.send(expiredBody);
      },
    });
    const run = openStream(url, { path });
    expect((await run.ended)?.code).toBe('LEDGER_TOKEN_EXPIRED');
    expect(run.frames).toEqual([data]);
    expect(ledger?.handshakes[0]?.url).toBe(path);
  });

  it.each([
    ['a binary frame', (socket: WebSocket) => socket.send(Buffer.from(update(1))), 'LEDGER_UNDECODABLE', 'retry'],
    ['broken JSON', (socket: WebSocket) => socket.send('{"upd'), 'LEDGER_UNDECODABLE', 'retry'],
    [
      'a frame above the limit',
      (socket: WebSocket) => socket.send(update(1).padEnd(2048)),
      'LEDGER_FRAME_TOO_LARGE',
      'park',
    ],
    ['a broken connection', (socket: WebSocket) => socket.terminate(), 'LEDGER_STREAM_CLOSED', 'retry'],
    ['a server error', (socket: WebSocket) => socket.close(1011), 'LEDGER_STREAM_CLOSED', 'retry'],
    ['a shutdown', (socket: WebSocket) => socket.close(1001), 'LEDGER_STREAM_CLOSED', 'retry'],
  ])('end with an error after %s', async (_name, serverAction, code, retry) => {
    const run = openStream(await serve({ socket: serverAction }), { maxPayloadBytes: 1024 });
    expect(await run.ended).toMatchObject({ code, retry });
    expect(run.frames).toEqual([]);
  });

  it('end with an error if the consumer throws', async () => {
    const url = await serve({ socket: (socket) => socket.send(update(1)) });
    const run = openStream(url, {
      onFrame: () => {
        throw new Error('defect');
      },
    });
    expect((await run.ended)?.code).toBe('UNEXPECTED');
  });
});

describe('stream keepalive', () => {
  it('pings an idle ledger, and treats it as alive while it responds', async () => {
    let pings = 0;
    const url = await serve({ socket: (socket) => socket.on('ping', () => (pings += 1)) });
    const run = openStream(url, { pingIntervalMs: 20 });
    await vi.waitFor(() => {
      expect(pings).toBeGreaterThan(6);
    }, 40_000);
    expect(run.ends).toEqual([]);
  });

  it('disconnects from a ledger that does not respond to pings', async () => {
    const run = openStream(await serve({ options: { autoPong: false } }), { pingIntervalMs: 20 });
    expect(await run.ended).toMatchObject({ code: 'LEDGER_PING_TIMEOUT', retry: 'retry' });
    await vi.waitFor(() => {
      expect(ledger?.connections.every((socket) => socket.destroyed)).toBe(true);
    }, 40_000);
    expect(run.ends).toHaveLength(1);
  });

  it('continues to ping while the stream is paused and after it is resumed', async () => {
    let pings = 0;
    let serverSocket: WebSocket | undefined;
    const url = await serve({
      socket: (socket) => {
        serverSocket = socket;
        socket.on('ping', () => (pings += 1));
      },
    });
    const run = openStream(url, { pingIntervalMs: 20 });
    // The stream is paused before the connection is open, and the pause must survive the handshake.
    run.stream.pause();
    await run.opened;
    await vi.waitFor(() => {
      expect(pings).toBeGreaterThan(8);
    }, 40_000);
    serverSocket?.send(update(1));
    await vi.waitFor(() => {
      expect(pings).toBeGreaterThan(16);
    }, 40_000);
    expect([run.ends, run.frames]).toEqual([[], []]);
    run.stream.resume();
    await vi.waitFor(() => {
      expect(run.frames).toEqual([update(1)]);
    }, 40_000);
    const pingsBefore = pings;
    await vi.waitFor(() => {
      expect(pings).toBeGreaterThan(pingsBefore + 6);
    }, 40_000);
    expect(run.ends).toEqual([]);
  });

  it('disconnects from a ledger that does not respond to pings after a pause', async () => {
    const run = openStream(await serve({ options: { autoPong: false } }), { pingIntervalMs: 20 });
    run.stream.pause();
    await run.opened;
    run.stream.resume();
    expect((await run.ended)?.code).toBe('LEDGER_PING_TIMEOUT');
  });
});

describe('closing a stream', () => {
  it.each([false, true])('is reported as LEDGER_STREAM_CLOSED, not as a clean end (paused: %s)', async (isPaused) => {
    const run = openStream(await serve({}));
    await run.opened;
    if (isPaused) run.stream.pause();
    run.stream.close();
    run.stream.close();
    expect(await run.ended).toMatchObject({ code: 'LEDGER_STREAM_CLOSED', facts: { closedBy: 'us' } });
    expect(run.ends).toHaveLength(1);
  });

  it('drops later frames, and disconnects from a ledger that never responds', async () => {
    let frames = 0;
    const url = await serve({
      socket: (socket) => {
        // A paused socket never reads the close frame of the client.
        socket.pause();
        const timer = setInterval(() => {
          frames += 1;
          socket.send(update(frames));
        }, 5);
        socket.on('close', () => {
          clearInterval(timer);
        });
      },
    });
    const run = openStream(url);
    await vi.waitFor(() => {
      expect(run.frames.length).toBeGreaterThan(0);
    }, 40_000);
    run.stream.close();
    const frameCount = run.frames.length;
    expect((await run.ended)?.facts).toEqual({ closedBy: 'us' });
    expect(run.frames).toHaveLength(frameCount);
    expect(frames).toBeGreaterThan(frameCount);
    for (const socket of ledger?.connections ?? []) socket.destroy();
  });

  it('works by an abort signal before, during and after the handshake', async () => {
    const url = await serve({});
    const abortedSignal = AbortSignal.abort();
    expect((await openStream(url, { signal: abortedSignal }).ended)?.facts).toEqual({ closedBy: 'us' });
    const abortDuring = new AbortController();
    const connecting = openStream(url, { signal: abortDuring.signal });
    abortDuring.abort();
    expect((await connecting.ended)?.facts).toEqual({ closedBy: 'us' });
    const lateAbort = new AbortController();
    const runningStream = openStream(url, { signal: lateAbort.signal });
    await runningStream.opened;
    lateAbort.abort();
    expect((await runningStream.ended)?.facts).toEqual({ closedBy: 'us' });
    runningStream.stream.close();
    expect(runningStream.ends).toHaveLength(1);
  });
});
