/** Rejections with an endless body. The client limits the memory and the time for reading the reason. */
import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createTokenSource } from '../../../src/ledger/access/token.ts';
import { createTransport } from '../../../src/ledger/transport/transport.ts';
import { collect } from '../../support/all.ts';
import { openRun } from './stream-run.ts';

const requestTimeoutMs = 30_000;

let server: Server;
let url: string;
let sentBytes: number;
const sockets = new Set<Socket>();
beforeEach(async () => {
  sentBytes = 0;
  server = createServer((_request, response) => {
    const chunk = Buffer.alloc(64 * 1024, 'no ');
    const writeMore = (): void => {
      sentBytes += chunk.length;
      if (!response.destroyed) response.write(chunk, () => setImmediate(writeMore));
    };
    response.writeHead(503, { 'content-type': 'text/plain' });
    writeMore();
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  sockets.clear();
  server.close();
  await once(server, 'close');
});

describe('HTTP rejection with an endless body', () => {
  it('is read up to a size limit after a request or a list request', async () => {
    const transport = createTransport({ url, tokenSource: createTokenSource({}), insecure: false, requestTimeoutMs });
    const unavailable = { code: 'LEDGER_UNAVAILABLE', facts: { httpStatus: 503 } };
    await expect(transport.request('GET', '/v2/state/ledger-end')).rejects.toMatchObject(unavailable);
    await expect(collect(transport.requestElements('POST', '/v2/updates', {}))).rejects.toMatchObject(unavailable);
    expect(sentBytes).toBeLessThan(32 * 1024 * 1024);
  });

  it('is read up to a time limit after a handshake', async () => {
    server.on('upgrade', (_request, socket) => {
      socket.write('HTTP/1.1 403 Forbidden\r\ncontent-type: text/plain\r\ncontent-length: 100000\r\n\r\n');
      const trickleTimer = setInterval(() => socket.write('x'), 50);
      socket
        .on('error', () => undefined)
        .on('close', () => {
          clearInterval(trickleTimer);
        });
    });
    const { ended: whenEnded, ends: streamEnds } = openRun(url, { handshakeTimeoutMs: 300 });
    expect(await whenEnded).toMatchObject({ code: 'LEDGER_PERMISSION_DENIED' });
    expect(streamEnds).toHaveLength(1);
  });
});
