/** Requests that arrive together on one connection: what Node makes of those behind the second one. */
import { createServer, IncomingMessage } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { OneAtATime } from '../../src/observe/http/connections.ts';

it('a second request before the answer ends the connection, and the others are not parsed', async () => {
  let [parsed, answered] = [0, 0];
  class Counted extends IncomingMessage {
    constructor(...of: ConstructorParameters<typeof IncomingMessage>) {
      super(...of);
      parsed += 1;
    }
  }
  const oneAtATime = new OneAtATime();
  const server = createServer({ IncomingMessage: Counted }, (request, response) => {
    if (oneAtATime.begin(request.socket, response)) answered += 1;
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.on('error', () => undefined).write('GET / HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(900));
  await new Promise((resolve) => socket.once('close', resolve));
  server.close();
  expect(answered).toBe(1);
  // The one behind the second is parsed to be told to stop there.
  expect(parsed).toBe(3);
});
