/**
 * A gateway that serves an indexer below a path, like nginx with `location /indexer/ { proxy_pass http://indexer/; }`.
 */
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Gateway extends AsyncDisposable {
  /** URL of the gateway, with a slash at the end. */
  readonly url: string;
}

/** @param path with a slash at both ends; requests for other paths return 404 */
export async function startGateway(target: string, path: string): Promise<Gateway> {
  const { host, hostname, port } = new URL(target);
  const server = createServer((incomingRequest, response) => {
    if (incomingRequest.url?.startsWith(path) !== true) {
      response.writeHead(404).end();
      return;
    }
    const options = {
      hostname,
      port,
      path: `/${incomingRequest.url.slice(path.length)}`,
      method: incomingRequest.method,
    };
    const forwardedRequest = request({ ...options, headers: { ...incomingRequest.headers, host } }, (upstream) => {
      response.writeHead(upstream.statusCode ?? 502, upstream.headers);
      upstream.pipe(response);
    });
    forwardedRequest.on('error', () => response.destroy());
    response.on('close', () => forwardedRequest.destroy());
    incomingRequest.pipe(forwardedRequest);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}${path}`,
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
