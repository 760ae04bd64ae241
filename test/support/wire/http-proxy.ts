/** An HTTP proxy that changes or delays the responses of a participant. */
import { createServer, request, type Server } from 'node:http';
import type { AddressInfo, Server as TcpServer } from 'node:net';

/** Starts to listen on a free port of the loopback address. Resolves to host and port. */
export async function listenOnPort(server: Server | TcpServer): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `127.0.0.1:${String((server.address() as AddressInfo).port)}`;
}

/**
 * A proxy that forwards requests, but rejects upgrades. It can return another date, and calls `onUpstreamResponse`
 * before it forwards each response.
 */
export async function startProxy(
  to: string,
  date?: string,
  onUpstreamResponse?: (path: string) => Promise<void>,
): Promise<AsyncDisposable & { readonly url: string }> {
  const server = createServer((incomingRequest, serverResponse) => {
    const { host: _host, connection: _connection, upgrade: _upgrade, ...headers } = incomingRequest.headers;
    const upstreamRequest = request(
      `${to}${incomingRequest.url ?? ''}`,
      { method: incomingRequest.method, headers },
      (response) => {
        const forwardResponse = (): void => {
          serverResponse.writeHead(response.statusCode ?? 502, {
            ...response.headers,
            ...(date === undefined ? {} : { date }),
          });
          response.pipe(serverResponse);
        };
        if (onUpstreamResponse === undefined) forwardResponse();
        else void onUpstreamResponse(incomingRequest.url ?? '').then(forwardResponse);
      },
    );
    incomingRequest.pipe(upstreamRequest);
  });
  const url = `http://${await listenOnPort(server)}`;
  return {
    url,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
