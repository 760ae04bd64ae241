/** A TCP port of this machine that is free now. Postgres cannot be told "any port", so one is asked for beforehand. */
import { once } from 'node:events';
import { createServer } from 'node:net';

/** @returns a port number of 127.0.0.1; somebody else may take it before it is used, so be ready to ask again */
export async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('a TCP server has no port');
  return address.port;
}
