/** TCP ports of this machine that are free now. Postgres cannot be told "any port", so one is asked for beforehand. */
import { once } from 'node:events';
import { createServer } from 'node:net';

/** How many ports are tried one after the other. */
const tries = 500;

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

/** The first free port from this one on; the same reservation holds for it. */
export async function freePortFrom(first: number, host = '127.0.0.1'): Promise<number> {
  for (let port = first; port <= Math.min(65_535, first + tries); port += 1) {
    if (await isFree(port, host)) return port;
  }
  return await freePort();
}

/** False when somebody listens there. An address that is none of ours is not judged: whoever listens there finds out. */
export function isFree(port: number, host: string): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code !== 'EADDRINUSE'));
    server.listen({ port, host, exclusive: true }, () => {
      server.close(() => resolve(true));
    });
  });
}
