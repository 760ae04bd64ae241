/**
 * The server closes idle connections if there are many, and a connection that pipelines requests. The tests use raw
 * sockets and set their own limits, so that the results do not depend on timing.
 */
import { createServer, IncomingMessage, type Server } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { limitIdleSockets, OneAtATime, type IdleLimit } from '../../src/observe/http/connections.ts';
import { waitFor } from '../support/wait-for.ts';

const most = 10;
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
async function open(count: number): Promise<readonly Client[]> {
  const clients: Client[] = [];
  for (let nth = 0; nth < count; nth += 1) {
    const accepted = new Promise((resolve) => server.once('connection', resolve));
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    let text = '';
    socket.setEncoding('latin1').on('data', (part: string) => (text += part));
    socket.on('error', () => undefined);
    sockets.push(socket);
    clients.push({ socket, heard: () => text });
    await accepted;
  }
  return clients;
}

async function ask({ socket, heard }: Client): Promise<void> {
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  await waitFor('an answer', () => (heard().endsWith('served') ? true : undefined));
}

const isOpen = ({ socket }: Client): boolean => !socket.destroyed;

describe('idle connections', () => {
  it('are served within their grace period, even above the limit', async () => {
    await start({ most, graceMs: forever, mostInGrace: 10 * most });
    const clients = await open(6 * most);
    for (const client of clients) await ask(client);
    expect(clients.filter(isOpen).length).toBe(6 * most);
  });

  it('are closed oldest first after their grace period, even without new connections', async () => {
    await start({ most, graceMs: 50, mostInGrace: 10 * most });
    const clients = await open(3 * most);
    await waitFor('few', () => (clients.filter(isOpen).length <= most ? true : undefined));
    expect(clients.filter(isOpen)).toEqual(clients.slice(-most));
  });

  it('are closed oldest first when too many are in their grace period', async () => {
    await start({ most, graceMs: forever, mostInGrace: 2 * most });
    const clients = await open(3 * most);
    await waitFor('few', () => (clients.filter(isOpen).length <= 2 * most ? true : undefined));
    expect(clients.filter(isOpen)).toEqual(clients.slice(most));
    const [newest] = clients.slice(-1);
    if (newest !== undefined) await ask(newest);
  });

  it('stay open below the limit, and count as new after a response', async () => {
    await start({ most, graceMs: 0, mostInGrace: most });
    const clients = await open(most);
    const [first, second] = clients;
    if (first !== undefined) await ask(first);
    await open(1);
    await waitFor('one connection closed', () => (second !== undefined && !isOpen(second) ? true : undefined));
    expect(clients.filter(isOpen)).toEqual(clients.filter((client) => client !== second));
  });
});

it('a second request before the first response closes the connection', async () => {
  let [parsed, responses] = [0, 0];
  class Counted extends IncomingMessage {
    constructor(...of: ConstructorParameters<typeof IncomingMessage>) {
      super(...of);
      parsed += 1;
    }
  }
  const oneAtATime = new OneAtATime();
  server = createServer({ IncomingMessage: Counted }, (request, response) => {
    if (oneAtATime.begin(request.socket, response)) responses += 1;
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.on('error', () => undefined).write('GET / HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(900));
  await new Promise((resolve) => socket.once('close', resolve));
  expect(responses).toBe(1);
  // The third request is still parsed; the parser stops there.
  expect(parsed).toBe(3);
});
