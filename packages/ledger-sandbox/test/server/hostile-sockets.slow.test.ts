/** Whatever the peer of a socket does, the sandbox serves other clients and releases all resources. */
import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { startSandbox } from '../../src/demo/sandbox.ts';
import type { Sandbox } from '../../src/server/sandbox.ts';
import { generateHistory } from '../../src/demo/traffic.ts';
import { expiresIn, token } from '../../../../test/support/tokens.ts';
import { secret, sharedSigner } from '../identity/callers.ts';
import { after, requestJson, contracts, updates, watch } from './raw.ts';
import { pause } from '../../../../test/support/wait-for.ts';

let sandbox: Sandbox;
let bearer: string;

beforeEach(async () => {
  sandbox = await startSandbox({ seed: 4, auth: { secret, users: [{ id: 'eve', rights: [] }] } });
  bearer = await token(sharedSigner, { sub: 'eve', aud: audience(), exp: expiresIn(200_000) });
  generateHistory(sandbox.ledger, { seed: 2, updates: 40 });
});

afterEach(() => sandbox.close());

const audience = (): string => `https://daml.com/jwt/aud/participant/${sandbox.participantId}`;

function upgradeText(path: string, headers = ''): string {
  const key = randomBytes(16).toString('base64');
  const upgrade = `Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${key}`;
  return `GET ${path} HTTP/1.1\r\nHost: a\r\n${upgrade}\r\n${headers}\r\n`;
}

function openSocket(text: string): Promise<Socket> {
  const { hostname, port } = new URL(sandbox.url);
  return new Promise((resolve) => {
    const socket = connect({ port: Number(port), host: hostname, allowHalfOpen: true }, () => {
      socket.write(text, () => resolve(socket));
    });
    socket.on('error', () => undefined);
  });
}

/** The response to a text, until the peer ends the connection or some time has passed. */
async function readResponse(socket: Socket, waitMs = 40_000): Promise<string> {
  let received = '';
  socket.on('data', (chunk) => (received += chunk.toString()));
  const whenEnded = new Promise((resolve) => {
    socket.once('end', resolve);
  });
  await Promise.race([whenEnded, pause(waitMs, undefined, { ref: false })]);
  return received;
}

async function expectServed(): Promise<void> {
  expect((await requestJson(sandbox.url, '/livez')).status).toBe(200);
}

describe('handshakes', () => {
  it('that are abandoned at any point do not stop the sandbox', async () => {
    const unknown = await token(sharedSigner, { sub: 'nobody', aud: audience(), exp: expiresIn(200_000) });
    const texts = [
      upgradeText('/v2/nothing'),
      upgradeText(updates, `Authorization: Bearer ${unknown}\r\n`),
      upgradeText(updates, `Authorization: Bearer ${bearer}\r\n`),
      upgradeText(updates, `X-Long: ${'x'.repeat(9_000)}\r\n`),
      upgradeText(updates).replace(/Sec-WebSocket-Key: .*/, 'Sec-WebSocket-Key: short'),
    ];
    for (let round = 0; round < 40; round += 1) {
      for (const text of texts) (await openSocket(text)).resetAndDestroy();
    }
    await pause(100);
    await expectServed();
  });

  it('that are refused hold no connection, and do not delay the end of the sandbox', async () => {
    const sockets: Socket[] = [];
    for (let count = 0; count < 5; count += 1) sockets.push(await openSocket(upgradeText('/v2/nothing')));
    for (const socket of sockets) expect(await readResponse(socket)).toMatch(/^HTTP\/1\.1 404 /);
    const whenClosed = sandbox.close().then(() => 'closed');
    expect(await Promise.race([whenClosed, pause(40_000, 'open', { ref: false })])).toBe('closed');
    for (const socket of sockets) socket.destroy();
  });

  it('with the token of an unknown user are refused every time', async () => {
    const text = upgradeText(
      updates,
      `Authorization: Bearer ${await token(sharedSigner, { sub: 'x', aud: audience(), exp: expiresIn(200_000) })}\r\n`,
    );
    const socket = await openSocket(text);
    expect(await readResponse(socket)).toMatch(/^HTTP\/1\.1 403 /);
    socket.destroy();
  });
});

describe('streams', () => {
  let openSandbox: Sandbox;

  beforeEach(async () => {
    openSandbox = await startSandbox({ seed: 4 });
    generateHistory(openSandbox.ledger, { seed: 2, updates: 40 });
  });

  afterEach(() => openSandbox.close());

  it.each([
    ['no JSON', '{'],
    ['a list', '[]'],
    ['a text', '"x"'],
    ['nothing', ''],
    ['nested too deep', `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`],
    ['a wrong offset', '{"beginExclusive":1.5,"updateFormat":{}}'],
    [
      'wrong types',
      '{"beginExclusive":0,"updateFormat":{"includeTransactions":7,"includeTopologyEvents":[]},"x":1e999}',
    ],
    ['inherited keys', '{"__proto__":{"updateFormat":{}},"constructor":{}}'],
  ])('respond to a first frame of %s with one frame and code 1000', async (_, text) => {
    for (const path of [updates, contracts, '/v2/commands/completions']) {
      const capture = await new Promise<{ frames: string[]; code: number }>((resolve, reject) => {
        const socket = new WebSocket(`${openSandbox.url.replace('http', 'ws')}${path}`, ['daml.ws.auth']);
        const frames: string[] = [];
        socket.on('open', () => socket.send(text));
        socket.on('message', (data: Buffer) => {
          frames.push(data.toString());
          // The lenient decoder reads some frames with wrong types as an empty request. They start a normal stream.
          if (frames.at(-1)?.includes('OffsetCheckpoint') === true) socket.terminate();
        });
        socket.on('error', reject);
        socket.on('close', (code) => resolve({ frames, code }));
      });
      if (capture.code === 1006) continue;
      expect(capture.code).toBe(1000);
      expect(capture.frames.map((frame) => typeof (JSON.parse(frame) as { code?: unknown }).code)).toEqual(['string']);
    }
  });

  it('use only the first of several frames, and accept a binary one', async () => {
    const capture = await watch(openSandbox.url, updates, after(0, 5), {
      opened: (socket) => {
        for (let count = 0; count < 50; count += 1) socket.send('{"beginExclusive":-1}');
      },
    });
    expect(capture.code).toBe(1000);
    expect(capture.frames.every((frame) => frame.startsWith('{"update"'))).toBe(true);
  });

  it('continue to be served after a frame of 20 MB, and after a frame above the maximum size', async () => {
    const filler = 'x'.repeat(20 * 1024 * 1024);
    const capture = await watch(openSandbox.url, updates, { ...after(0, 5), filler });
    expect(capture.code).toBe(1000);
    const closeCode = await new Promise<number>((resolve) => {
      const socket = new WebSocket(`${openSandbox.url.replace('http', 'ws')}${updates}`, ['daml.ws.auth']);
      socket.on('open', () => socket.send(Buffer.alloc(110 * 1024 * 1024)));
      socket.on('error', () => undefined);
      socket.on('close', resolve);
    });
    expect([1006, 1009]).toContain(closeCode);
  });

  it('serve a thousand sockets, half of which never send a request, and release them all', async () => {
    const sockets = await Promise.all(
      Array.from({ length: 1_000 }, async (_, index) => {
        const socket = new WebSocket(`${openSandbox.url.replace('http', 'ws')}${updates}`, ['daml.ws.auth']);
        socket.on('error', () => undefined);
        await new Promise((resolve) => {
          socket.once('open', resolve);
        });
        if (index % 2 === 0) socket.send(JSON.stringify(after(openSandbox.ledger.ledgerEnd())));
        return socket;
      }),
    );
    const receivedBytes = sockets
      .filter((_, index) => index % 2 === 0)
      .map(
        (socket) =>
          new Promise((resolve) => {
            socket.once('message', resolve);
          }),
      );
    await pause(100);
    generateHistory(openSandbox.ledger, { seed: 9, updates: 1, startAt: Date.now() });
    await Promise.all(receivedBytes);
    for (const socket of sockets) socket.terminate();
    expect((await requestJson(openSandbox.url, '/livez')).status).toBe(200);
    const whenClosed = openSandbox.close().then(() => 'closed');
    expect(await Promise.race([whenClosed, pause(40_000, 'open', { ref: false })])).toBe('closed');
  });
});
