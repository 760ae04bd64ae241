/**
 * The server closes idle connections if there are many, and a connection that pipelines requests. The tests use raw
 * sockets and set their own limits, so that the results do not depend on timing.
 */
import { createServer, IncomingMessage, type Server } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { limitIdleSockets, SingleRequestGuard, type IdleLimit } from '../../src/observe/http/connections.ts';
import { waitFor } from '../support/wait-for.ts';

const maxClients = 10;
const forever = 3_600_000;

let server: Server;
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await new Promise((resolve) => server.close(resolve));
});

async function start(limit: IdleLimit): Promise<void> {
  server = createServer((_, response) => response.end('served'));
  limitIdleSockets(server, limit);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
}

interface Client {
  readonly socket: Socket;
  readonly heard: () => string;
}

/** Opens connections that send nothing, in the order in which the server accepts them. */
async function openClients(count: number): Promise<readonly Client[]> {
  const clients: Client[] = [];
  for (let index = 0; index < count; index += 1) {
    const whenAccepted = new Promise((resolve) => server.once('connection', resolve));
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    let text = '';
    socket.setEncoding('latin1').on('data', (chunk: string) => (text += chunk));
    socket.on('error', () => undefined);
    sockets.push(socket);
    clients.push({ socket, heard: () => text });
    await whenAccepted;
  }
  return clients;
}

async function sendGet({ socket, heard: readReceived }: Client): Promise<void> {
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  await waitFor('an answer', () => (readReceived().endsWith('served') ? true : undefined));
}

const isOpen = ({ socket }: Client): boolean => !socket.destroyed;

describe('idle connections', () => {
  it('are served within their grace period, even above the limit', async () => {
    await start({ most: maxClients, graceMs: forever, mostInGrace: 10 * maxClients });
    const clients = await openClients(6 * maxClients);
    for (const client of clients) await sendGet(client);
    expect(clients.filter(isOpen).length).toBe(6 * maxClients);
  });

  it('are closed oldest first after their grace period, even without new connections', async () => {
    await start({ most: maxClients, graceMs: 50, mostInGrace: 10 * maxClients });
    const clients = await openClients(3 * maxClients);
    await waitFor('few', () => (clients.filter(isOpen).length <= maxClients ? true : undefined));
    expect(clients.filter(isOpen)).toEqual(clients.slice(-maxClients));
  });

  it('are closed oldest first when too many are in their grace period', async () => {
    await start({ most: maxClients, graceMs: forever, mostInGrace: 2 * maxClients });
    const clients = await openClients(3 * maxClients);
    await waitFor('few', () => (clients.filter(isOpen).length <= 2 * maxClients ? true : undefined));
    expect(clients.filter(isOpen)).toEqual(clients.slice(maxClients));
    const [newestClient] = clients.slice(-1);
    if (newestClient !== undefined) await sendGet(newestClient);
  });

  it('stay open below the limit, and count as new after a response', async () => {
    await start({ most: maxClients, graceMs: 0, mostInGrace: maxClients });
    const clients = await openClients(maxClients);
    const [first, second] = clients;
    if (first !== undefined) await sendGet(first);
    await openClients(1);
    await waitFor('one connection closed', () => (second !== undefined && !isOpen(second) ? true : undefined));
    expect(clients.filter(isOpen)).toEqual(clients.filter((client) => client !== second));
  });
});

it('a second request before the first response closes the connection', async () => {
  let [parsedCount, responses] = [0, 0];
  class CountedMessage extends IncomingMessage {
    constructor(...messageArgs: ConstructorParameters<typeof IncomingMessage>) {
      super(...messageArgs);
      parsedCount += 1;
    }
  }
  const connectionLimiter = new SingleRequestGuard();
  server = createServer({ IncomingMessage: CountedMessage }, (request, response) => {
    if (connectionLimiter.begin(request.socket, response)) responses += 1;
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.on('error', () => undefined).write('GET / HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(900));
  await new Promise((resolve) => socket.once('close', resolve));
  expect(responses).toBe(1);
  // The third request is still parsed; the parser stops there.
  expect(parsedCount).toBe(3);
});
