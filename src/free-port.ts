/** Which TCP ports of this machine are free now. Somebody else may take one before it is used, so be ready to ask again. */
import { createServer, type AddressInfo } from 'node:net';

/** How many ports are tried one after the other. */
const tries = 500;

/** The first free port from this one on; any that is free where there is none. */
export async function freePortFrom(first: number, host = '127.0.0.1'): Promise<number> {
  for (let port = first; port <= Math.min(65_535, first + tries); port += 1) {
    if (await isFree(port, host)) return port;
  }
  return (await listened(0, host)) ?? first;
}

/** False when somebody listens there. An address that is none of ours is not judged: whoever listens there finds out. */
export async function isFree(port: number, host: string): Promise<boolean> {
  return (await listened(port, host)) !== undefined;
}

/** The port that was listened on for a moment; undefined when somebody else does. */
function listened(port: number, host: string): Promise<number | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code === 'EADDRINUSE' ? undefined : port));
    server.listen({ port, host, exclusive: true }, () => {
      const { port: taken } = server.address() as AddressInfo;
      server.close(() => resolve(taken));
    });
  });
}
