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
import { usualPace } from '../../config/pace.ts';
import type { Metrics } from '../metrics/metrics.ts';
import { refuse, refuseCaller, sendJson } from './answers.ts';
import { cutUnread, limitIdleSockets, OneAtATime, refuseExpectations } from './connections.ts';
import { answerCors } from './cors.ts';
import { Exposition } from './exposition.ts';
import { refusedOverview, type OverviewAccess } from './overview-callers.ts';
import { type Answers, routeOf, routesOf, type Route } from './routes.ts';
import { Unsent, unsentLimitFor } from './unsent.ts';

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
const mostConnections = 2_000;

/**
 * Maximum number of connections that wait to be accepted. With Node's default of 511, the connection of a probe was
 * dropped during a burst of a thousand connections. The system of the probe retried after one second and then after
 * two. The operating system has its own limit (net.core.somaxconn).
 */
const backlog = 4_096;

/** Options of the server. Closing it also ends waiting requests and closes the status page. */
export interface HttpServerOptions extends Omit<Answers, 'exposition' | 'unsent'> {
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
  const unsent = new Unsent(unsentLimitFor(getHeapStatistics().heap_size_limit));
  const exposition = new Exposition(options.metrics.registry, options.metricsMs ?? usualPace.metricsMs);
  const answering = { ...options, isKnownHost, routes: routesOf({ ...options, exposition, unsent }) };
  const oneAtATime = new OneAtATime();
  const server = createServer(limits, (request, response) => {
    if (!oneAtATime.begin(request.socket, response)) return;
    void answer(answering, request, response)
      .catch(() => {
        if (!response.headersSent) response.writeHead(500);
        response.end();
      })
      .finally(() => {
        unsent.hold(response);
        cutUnread(response);
      });
  });
  refuseExpectations(server, oneAtATime);
  limitIdleSockets(server, idleLimit);
  server.maxConnections = mostConnections + (options.changes?.most ?? 0);
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
    server.once('error', (error: NodeJS.ErrnoException) => reject(refused(error, host, port)));
    server.listen({ port, host, backlog }, () => {
      server.removeAllListeners('error');
      server.on('error', () => undefined);
      resolve();
    });
  });
}

function refused(error: NodeJS.ErrnoException, host: string, port: number): IndexerError {
  const taken = error.code === 'EADDRINUSE';
  const reason = taken ? `${portHolder(port)} listens there` : (error.code ?? error.name);
  return new IndexerError(`cannot listen on ${host}:${port}: ${reason}`, {
    code: taken ? 'HTTP_PORT_TAKEN' : 'HTTP_ADDRESS_INVALID',
    retry: 'fatal',
    exitCode: ExitCode.configuration,
    remedy: taken
      ? 'set INDEXER_HTTP_PORT to a free port, or to 0 for any'
      : 'set INDEXER_HTTP_HOST and INDEXER_HTTP_PORT to an address of this machine that this user may use',
    cause: error,
  });
}

interface Answering extends Pick<HttpServerOptions, 'corsOrigins' | 'overview'> {
  readonly routes: readonly Route[];
  readonly isKnownHost: (header: string | undefined) => boolean;
}

async function answer(options: Answering, request: IncomingMessage, response: ServerResponse): Promise<void> {
  // If a request has two host names, a proxy may have checked the host name that is not used here.
  if (hostsNamed(request) > 1) return refuse(response, 400, 'a request must name exactly one host');
  const [path = '/', query = ''] = (request.url ?? '/').split('?', 2);
  const route = routeOf(options.routes, path);
  const known = options.isKnownHost(request.headers.host);
  if (!known && route?.isProbe !== true) {
    return refuse(
      response,
      421,
      'unknown host name: use an address of the indexer, or add the name to INDEXER_HTTP_ALLOWED_HOSTS',
    );
  }
  if (route === undefined) return sendJson(response, 404, notFound(options.routes));
  if (route.isShared === true && answerCors(request, response, options.corsOrigins ?? [])) return;
  if (route.methods !== undefined) {
    if (!route.methods.includes(request.method ?? '')) {
      response.setHeader('allow', route.methods.join(', '));
      return refuse(response, 405, `only ${route.methods.join(' and ')} requests are supported`);
    }
    if (hasBody(request)) return refuse(response, 413, 'requests must have no body');
  }
  const refused = route.isOverview && options.overview && (await refusedOverview(options.overview, request));
  if (refused) return refuseCaller(response, refused.status, refused.error);
  return route.answer({ path, query, request, response, known });
}

/**
 * The paths that a 404 response lists. A path that includes everything below it belongs to a page and is not listed.
 */
function notFound(routes: readonly Route[]): Readonly<Record<string, unknown>> {
  const paths = routes.map(({ path }) => path).filter((path) => path === '/' || !path.endsWith('/'));
  return { error: 'not found', paths };
}

function hostsNamed({ rawHeaders }: IncomingMessage): number {
  return rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === 'host').length;
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) !== 0;
}

// Host names that the endpoints accept. A third-party page can make its own host name resolve to this machine (DNS
// rebinding). The browser would then let the page read responses of this server. The browser still sends that host
// name, so the request can be refused. An address cannot be rebound.

/** @param names accepted in addition to addresses and localhost; case is ignored */
function hostCheck(names: readonly string[]): (header: string | undefined) => boolean {
  const known = new Set(['localhost', ...names.map((name) => name.toLowerCase())]);
  return (header) => {
    // Only HTTP/1.0, which no browser uses, may omit the header.
    if (header === undefined) return true;
    const name = header
      .replace(/:\d*$/, '')
      .replace(/^\[(.*)\]$/, '$1')
      .replace(/\.$/, '')
      .toLowerCase();
    return isIP(name) !== 0 || known.has(name);
  };
}
