/**
 * The pages for people, `/` and `/query`, the endpoints for operators, `/metrics`, `/livez`, `/readyz`, `/status`, and for applications,
 * `/wait` and `/changes`. Read-only, with limits on size, time and number of connections; nothing here can slow the pipeline down. GET
 * and HEAD without a body only, and no payload is shown: but at `/query` and `/changes`, which answer this machine, and who shows a token.
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
import { refuse, refuseAsker, sendJson } from './answers.ts';
import { cutUnread, limitIdleSockets, OneAtATime, refuseExpectations } from './connections.ts';
import { answerCors } from './cors.ts';
import { Exposition } from './exposition.ts';
import { refusedOverview, type OverviewAccess } from './overview-callers.ts';
import { type Answers, routeOf, routesOf, type Route } from './routes.ts';
import { Unsent, unsentLimitFor } from './unsent.ts';

/** Real clients send a few hundred bytes at once. Without the last one, Node looks for late requests twice a minute. */
const limits = {
  maxHeaderSize: 8 * 1024,
  headersTimeout: 5_000,
  requestTimeout: 5_000,
  keepAliveTimeout: 5_000,
  connectionsCheckingInterval: 500,
};
/** Of connections that ask for nothing. The last number leaves room for all who wait, open pages and scrapers. */
const idleLimit = { most: 250, graceMs: 1_000, mostInGrace: 900 };
/** Those who wait at `/wait`, open pages, scrapers, and the idle ones, of which a burst is accepted before any is cut off; beside streams of `/changes`. */
const mostConnections = 2_000;

/**
 * Connections that wait to be accepted. With the 511 of Node a thousand that came at once had the one of a probe dropped, whose system tries again
 * after a second, and then after two. The system has a limit of its own (net.core.somaxconn).
 */
const backlog = 4_096;

/** With what is answered from; those who wait, and the page, are closed with the server. */
export interface HttpServerOptions extends Omit<Answers, 'exposition' | 'unsent'> {
  readonly host: string;
  /** 0 takes any free port; `url` tells which. */
  readonly port: number;
  /** Names it answers to beside `host`, localhost and addresses. */
  readonly names?: readonly string[];
  /** Whose pages may read what applications read; default: none. */
  readonly corsOrigins?: readonly string[];
  readonly metrics: Pick<Metrics, 'registry'>;
  /** How long one rendering of the metrics answers whoever asks, milliseconds; a second by default. */
  readonly metricsMs?: number;
  /** Who is answered at `/status`, `/events` and `/update`; everybody without it. */
  readonly overview?: OverviewAccess | undefined;
}

export interface RunningHttpServer {
  /** e.g. `http://127.0.0.1:7580` */
  readonly url: string;
  /** Resolves when the port is free again; open connections are cut. */
  close(): Promise<void>;
}

/**
 * Listens and answers until closed.
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
  // Longer than the longest wait.
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
      // Their answers are written in this turn.
      await setImmediate();
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
    },
  };
}

/** @throws IndexerError as `startHttpServer` does when it could not listen there now */
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
  // Of two names a proxy in between may have looked at the other one.
  if (hostsNamed(request) > 1) return refuse(response, 400, 'a request names one host');
  const [path = '/', query = ''] = (request.url ?? '/').split('?', 2);
  const route = routeOf(options.routes, path);
  const known = options.isKnownHost(request.headers.host);
  if (!known && route?.isProbe !== true) {
    return refuse(
      response,
      421,
      'not asked by a name of this indexer: use its address, or add the name to INDEXER_HTTP_ALLOWED_HOSTS',
    );
  }
  if (route === undefined) return sendJson(response, 404, notFound(options.routes));
  if (route.isShared === true && answerCors(request, response, options.corsOrigins ?? [])) return;
  if (route.methods !== undefined) {
    if (!route.methods.includes(request.method ?? '')) {
      response.setHeader('allow', route.methods.join(', '));
      return refuse(response, 405, `only ${route.methods.join(' and ')} requests are answered`);
    }
    if (hasBody(request)) return refuse(response, 413, 'a request has no body here');
  }
  const refused = route.isOverview && options.overview && (await refusedOverview(options.overview, request));
  if (refused) return refuseAsker(response, refused.status, refused.error);
  return route.answer({ path, query, request, response, known });
}

/** One of all below a path is not listed: it belongs to the page at that path. */
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

// Which names the endpoints answer to. A page of a stranger can have its own name lead to this machine (DNS rebinding) and
// would then read answers here as its own; the browser still says that name. An address cannot be led elsewhere.

/** @param names beside addresses and localhost, in any case */
function hostCheck(names: readonly string[]): (header: string | undefined) => boolean {
  const known = new Set(['localhost', ...names.map((name) => name.toLowerCase())]);
  return (header) => {
    // Only HTTP/1.0 may leave it out, which no browser speaks.
    if (header === undefined) return true;
    const name = header
      .replace(/:\d*$/, '')
      .replace(/^\[(.*)\]$/, '$1')
      .replace(/\.$/, '')
      .toLowerCase();
    return isIP(name) !== 0 || known.has(name);
  };
}
