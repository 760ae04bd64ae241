/** An HTTP proxy that changes or delays the responses of a participant. */
import { createServer, request, type Server } from 'node:http';
import type { AddressInfo, Server as TcpServer } from 'node:net';

/** Starts to listen on a free port of the loopback address. Resolves to host and port. */
export async function listening(server: Server | TcpServer): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `127.0.0.1:${String((server.address() as AddressInfo).port)}`;
}

/**
 * A proxy that forwards requests, but rejects upgrades. It can return another date, and calls `beforeAnswer` before it
 * forwards each response.
 */
export async function startProxy(
  to: string,
  date?: string,
  beforeAnswer?: (path: string) => Promise<void>,
): Promise<AsyncDisposable & { readonly url: string }> {
  const server = createServer((incoming, answer) => {
    const { host: _host, connection: _connection, upgrade: _upgrade, ...headers } = incoming.headers;
    const onward = request(`${to}${incoming.url ?? ''}`, { method: incoming.method, headers }, (response) => {
      const passOn = (): void => {
        answer.writeHead(response.statusCode ?? 502, { ...response.headers, ...(date === undefined ? {} : { date }) });
        response.pipe(answer);
      };
      if (beforeAnswer === undefined) passOn();
      else void beforeAnswer(incoming.url ?? '').then(passOn);
    });
    incoming.pipe(onward);
  });
  const url = `http://${await listening(server)}`;
  return {
    url,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
