/**
 * HTTP server: the pages `/` and `/query`, the endpoints for operators (`/metrics`, `/livez`, `/readyz`, `/status`),
 * and the endpoints for applications (`/wait`, `/changes`). It is read-only. Requests are limited in size and time, and
 * the number of connections is limited, so the server cannot slow down the pipeline. It accepts only GET and HEAD
 * without a body, and returns no payloads. The exceptions are `/query` and `/changes`, which accept requests only from
 * this machine or with a reader token.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import { isIP } from 'node:net';
import { getHeapStatistics } from 'node:v8';
import { ExitCode } from '../../errors/exit-code.ts';
import { IndexerError } from '../../errors/indexer-error.ts';
import { portHolder } from './local-ports.ts';
import { defaultPace } from '../../config/pace.ts';
import type { Metrics } from '../metrics/metrics.ts';
import { sendError, sendCallerError, sendJson } from './answers.ts';
import { closeIfUnread, limitIdleSockets, SingleRequestGuard, rejectExpectations } from './connections.ts';
import { handleCors } from './cors.ts';
import { Exposition } from './exposition.ts';
import { overviewRefusal, type OverviewAccess } from './overview-callers.ts';
import { type RouteHandlers, routeOf, routesOf, type Route } from './routes.ts';
import { UnsentBytes, unsentLimit } from './unsent.ts';

/**
 * Limits on requests. Real clients send a few hundred bytes at once. Without the last option, Node would check for late
 * requests only twice a minute.
 */
const limits = {
  maxHeaderSize: 8 * 1024,
  headersTimeout: 5_000,
  requestTimeout: 5_000,
  keepAliveTimeout: 5_000,
  connectionsCheckingInterval: 500,
};
/** Limits on idle connections. The last number leaves capacity for all waiting requests, open pages and scrapers. */
const idleLimit = { most: 250, graceMs: 1_000, mostInGrace: 900 };
/**
 * Maximum number of connections: waiting requests of `/wait`, open pages, scrapers, and idle connections. A burst of
 * idle connections is accepted before any of them is closed. Streams of `/changes` are not included in this number.
 */
const maxConnections = 2_000;

/**
 * Maximum number of connections that wait to be accepted. With Node's default of 511, the connection of a probe was
 * dropped during a burst of a thousand connections. The system of the probe retried after one second and then after
 * two. The operating system has its own limit (net.core.somaxconn).
 */
const listenBacklog = 4_096;

/** Options of the server. Closing it also ends waiting requests and closes the status page. */
export interface HttpServerOptions extends Omit<RouteHandlers, 'exposition' | 'unsent'> {
  readonly host: string;
  /** The port; 0 means any free port. `url` contains the actual port. */
  readonly port: number;
  /** Host names to accept in addition to `host`, localhost and addresses. */
  readonly names?: readonly string[];
  /** Origins whose pages may read the endpoints for applications; default: none. */
  readonly corsOrigins?: readonly string[];
  readonly metrics: Pick<Metrics, 'registry'>;
  /** Lifetime of one rendering of the metrics, milliseconds; default one second. */
  readonly metricsMs?: number;
  /** Access control of `/status`, `/events` and `/update`; if absent, they are public. */
  readonly overview?: OverviewAccess | undefined;
}

export interface RunningHttpServer {
  /** e.g. `http://127.0.0.1:7580` */
  readonly url: string;
  /** Closes open connections. Resolves when the port is free again. */
  close(): Promise<void>;
}

/**
 * Listens and serves requests until closed.
 * @throws IndexerError HTTP_PORT_TAKEN or HTTP_ADDRESS_INVALID (exit 78)
 */
export async function startHttpServer(options: HttpServerOptions): Promise<RunningHttpServer> {
  const isKnownHost = hostCheck([options.host, ...(options.names ?? [])]);
  const unsentBytes = new UnsentBytes(unsentLimit(getHeapStatistics().heap_size_limit));
  const exposition = new Exposition(options.metrics.registry, options.metricsMs ?? defaultPace.metricsMs);
  const handlerOptions = { ...options, isKnownHost, routes: routesOf({ ...options, exposition, unsent: unsentBytes }) };
  const requestGuard = new SingleRequestGuard();
  const server = createServer(limits, (request, response) => {
    if (!requestGuard.begin(request.socket, response)) return;
    void handleRequest(handlerOptions, request, response)
      .catch(() => {
        if (!response.headersSent) response.writeHead(500);
        response.end();
      })
      .finally(() => {
        unsentBytes.hold(response);
        closeIfUnread(response);
      });
  });
  rejectExpectations(server, requestGuard);
  limitIdleSockets(server, idleLimit);
  server.maxConnections = maxConnections + (options.changes?.most ?? 0);
  server.maxRequestsPerSocket = 1_000;
  // This is longer than the longest wait.
  server.timeout = 75_000;
  await listen(server, options);
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : options.port;
  const host = options.host.includes(':') ? `[${options.host}]` : options.host;
  return {
    url: `http://${host}:${port}`,
    close: async () => {
      options.waiters.close();
      options.page?.close();
      // Waits one turn of the event loop, in which the responses are written.
      await setImmediate();
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
    },
  };
}

/** @throws the IndexerErrors of `startHttpServer`, if it could not listen there now */
export async function assertPortFree(host: string, port: number): Promise<void> {
  const server = createServer();
  await listen(server, { host, port });
  await new Promise<void>((resolve) => {
    server.close(() => resolve());
  });
}

function listen(server: Server, { host, port }: Pick<HttpServerOptions, 'host' | 'port'>): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(listenError(error, host, port)));
    server.listen({ port, host, backlog: listenBacklog }, () => {
      server.removeAllListeners('error');
      server.on('error', () => undefined);
      resolve();
    });
  });
}

function listenError(error: NodeJS.ErrnoException, host: string, port: number): IndexerError {
  const isTaken = error.code === 'EADDRINUSE';
  const reason = isTaken ? `${portHolder(port)} listens there` : (error.code ?? error.name);
  return new IndexerError(`cannot listen on ${host}:${port}: ${reason}`, {
    code: isTaken ? 'HTTP_PORT_TAKEN' : 'HTTP_ADDRESS_INVALID',
    retry: 'fatal',
    exitCode: ExitCode.configuration,
    remedy: isTaken
      ? 'set INDEXER_HTTP_PORT to a free port, or to 0 for any'
      : 'set INDEXER_HTTP_HOST and INDEXER_HTTP_PORT to an address of this machine that this user may use',
    cause: error,
  });
}

interface HandlerOptions extends Pick<HttpServerOptions, 'corsOrigins' | 'overview'> {
  readonly routes: readonly Route[];
  readonly isKnownHost: (header: string | undefined) => boolean;
}

async function handleRequest(
  options: HandlerOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  // If a request has two host names, a proxy may have checked the host name that is not used here.
  if (hostsNamed(request) > 1) return sendError(response, 400, 'a request must name exactly one host');
  const { path, query } = targetOf(request.url ?? '/');
  const route = routeOf(options.routes, path);
  const isKnownHost = options.isKnownHost(request.headers.host);
  if (!isKnownHost && route?.isProbe !== true) {
    return sendError(
      response,
      421,
      'unknown host name: use an address of the indexer, or add the name to INDEXER_HTTP_ALLOWED_HOSTS',
    );
  }
  if (route === undefined) return sendJson(response, 404, notFoundBody(options.routes));
  if (route.isShared === true && handleCors(request, response, options.corsOrigins ?? [])) return;
  if (route.methods !== undefined) {
    if (!route.methods.includes(request.method ?? '')) {
      response.setHeader('allow', route.methods.join(', '));
      return sendError(response, 405, `only ${route.methods.join(' and ')} requests are supported`);
    }
    if (hasBody(request)) return sendError(response, 413, 'requests must have no body');
  }
  const refusal = route.isOverview && options.overview && (await overviewRefusal(options.overview, request));
  if (refusal) return sendCallerError(response, refusal.status, refusal.error);
  return route.answer({ path, query, request, response, known: isKnownHost });
}

/** Splits at the first question mark: a query may contain more of them, which are part of a value. */
function targetOf(url: string): { readonly path: string; readonly query: string } {
  const [path = '/', ...rest] = url.split('?');
  return { path, query: rest.join('?') };
}

/**
 * The paths that a 404 response lists. A path that includes everything below it belongs to a page and is not listed.
 */
function notFoundBody(routes: readonly Route[]): Readonly<Record<string, unknown>> {
  const paths = routes.map(({ path }) => path).filter((path) => path === '/' || !path.endsWith('/'));
  return { error: 'not found', paths };
}

function hostsNamed({ rawHeaders }: IncomingMessage): number {
  return rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === 'host').length;
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) !== 0;
}

// Host names that the endpoints accept. A third-party page can make its own host name resolve to this machine (DNS
// rebinding). The browser would then let the page read responses of this server. The browser still sends that host
// name, so the request can be refused. An address cannot be rebound.

/** @param names accepted in addition to addresses and localhost; case is ignored */
function hostCheck(names: readonly string[]): (header: string | undefined) => boolean {
  const knownHosts = new Set(['localhost', ...names.map((name) => name.toLowerCase())]);
  return (header) => {
    // Only HTTP/1.0, which no browser uses, may omit the header.
    if (header === undefined) return true;
    const name = header
      .replace(/:\d*$/, '')
      .replace(/^\[(.*)\]$/, '$1')
      .replace(/\.$/, '')
      .toLowerCase();
    return isIP(name) !== 0 || knownHosts.has(name);
  };
}
