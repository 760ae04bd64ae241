/**
 * The HTTP server. It checks path, host name, origin and token before the protocol reads a request. Nothing is kept between
 * requests: each one has its own server, which reads with the token of that request.
 */
import { createServer, type Server, type ServerResponse } from 'node:http';
import { toNodeHandler, type NodeIncomingMessageLike } from '@modelcontextprotocol/node';
import { createMcpHandler, type AuthInfo } from '@modelcontextprotocol/server';
import type { HttpOptions } from '../indexer/configuration.ts';
import { refusalReason, tokenOfHeader, type Refusal } from './http-checks.ts';
import type { McpServers } from './mcp-server.ts';
import { logFailure } from './program.ts';

const maxBodyBytes = 256 * 1024;
const maxConnections = 256;
/** Concurrent requests, including streams for notifications, which this server never sends. */
const maxRequests = 64;
const maxSubscriptions = 16;

export interface HttpService {
  readonly server: Server;
  readonly close: () => Promise<void>;
}

export function createHttpServer(servers: McpServers, options: HttpOptions): HttpService {
  const handler = createMcpHandler(
    servers.factory(
      ({ authInfo }) =>
        () =>
          Promise.resolve(authInfo?.token ?? ''),
    ),
    { responseMode: 'json', maxRequestBodySize: maxBodyBytes, maxSubscriptions, onerror: logFailure },
  );
  const handle = toNodeHandler(handler, { maxRequestBodySize: maxBodyBytes, onerror: logFailure });
  let running = 0;
  const server = createServer({ requestTimeout: 30_000, headersTimeout: 10_000 }, (request, response) => {
    const token = tokenOfHeader(request.headers.authorization);
    const refusal = running >= maxRequests ? busy : refusalReason(request, options, token);
    if (refusal !== undefined) return refuse(response, refusal);
    running++;
    response.once('close', () => running--);
    const auth: AuthInfo = { token: token ?? '', clientId: '', scopes: [] };
    void handle(Object.assign(request, { auth }) as NodeIncomingMessageLike, response);
  });
  server.maxConnections = maxConnections;
  return {
    server,
    close: async () => {
      server.close();
      await handler.close();
      server.closeAllConnections();
    },
  };
}

const busy: Refusal = { status: 503, error: 'too many requests are running: try again later' };

function refuse(response: ServerResponse, { status, error }: Refusal): void {
  response.writeHead(status, {
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'no-store',
    connection: 'close',
    ...(status === 401 ? { 'www-authenticate': 'Bearer realm="ledger-indexer"' } : {}),
  });
  response.end(`${JSON.stringify({ error })}\n`);
}
