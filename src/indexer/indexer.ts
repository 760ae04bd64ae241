/**
 * The composition root: builds every part from the configuration, runs the pipeline, and closes everything in reverse
 * order. One instance is one stream: one participant into one schema.
 */
import { elapsed } from '../config/pause.ts';
import type { LedgerAccess } from '../ledger/open-access.ts';
import type { Config } from '../config/config.ts';
import { type PollIntervals, defaultPace } from '../config/pace.ts';
import { unknownPartySentence, unknownParties } from '../ledger/api/unknown-parties.ts';
import type { RequestFacts } from '../ledger/transport/transport.ts';
import { WorkTimer } from '../observe/figures/work-clock.ts';
import { CheckpointWaiters } from '../observe/health/checkpoint-waiters.ts';
import { type HealthOptions, HealthTracker } from '../observe/health/health-tracker.ts';
import { startHttpServer } from '../observe/http/http-server.ts';
import { remoteCallerReason } from '../observe/http/local-caller.ts';
import { TokenCallers } from '../observe/http/token-callers.ts';
import { createObservers } from '../observe/indexer-observer.ts';
import type { Logger, Logging } from '../observe/log/logger.ts';
import { noticeReport } from '../observe/log/notice-report.ts';
import { reportUnknownParties } from '../observe/log/party-report.ts';
import {
  countApiRequest,
  countRequest,
  createMetrics,
  type Metrics,
  type MetricsOptions,
  type PoolFacts,
  timeQuery,
} from '../observe/metrics/metrics.ts';
import type { PageGuide } from '../observe/page/messages.ts';
import { StatusPage } from '../observe/page/status-page.ts';
import { Commits } from '../pipeline/ports/commits.ts';
import type { PipelineParts } from '../pipeline/ports/parts.ts';
import { runPipeline } from '../pipeline/run.ts';
import { openDatabase, type Database, withStatementTimeout } from '../store/connection/database.ts';
import { databaseLabel } from '../store/connection/hosts.ts';
import { WriterCandidate, writerSessionName } from '../store/lock/writer-lock.ts';
import { readRecentFacts } from '../store/reads/recent-facts.ts';
import { readUpdateOutline } from '../store/reads/update-outline.ts';
import { commit } from '../version.ts';
import { openApi } from './api.ts';
import { openChangeServer } from './changes.ts';
import { extraConnections, openReadPools } from './connections.ts';
import { type ConsoleParts, openConsole } from './console.ts';
import { Lifetime } from './lifetime.ts';
import { pipelineParts } from './parts.ts';
import { openNodeTokens, type OpenNodeTokens } from './node-tokens.ts';
import { openReaderTokens } from './reader-tokens.ts';
import { startDelivering } from './webhooks.ts';

/** Time that a stop reserves for closing connections and sockets after the pipeline has ended, milliseconds. */
const closingMs = 4_000;
/** Time limit for closing opened parts after one part failed to start, milliseconds. */
const failedStartMs = 5_000;
/** Statement timeout of the status page. Short, because a busy server has more important work; milliseconds. */
const pageReadMs = 500;

export interface IndexerOptions {
  readonly config: Config;
  readonly access: LedgerAccess;
  readonly ledgerUrl: string;
  readonly databaseUrl: string;
  readonly version: string;
  readonly logging: Logging;
  /** Text to copy from the status page; none by default. */
  readonly guide?: PageGuide;
  /** Parts of the query page; without them there is no query page. */
  readonly console?: ConsoleParts;
  /** Polling intervals; default: the usual ones. */
  readonly pace?: PollIntervals;
}

export interface Indexer {
  /** Base URL of the pages, /metrics, /livez, /readyz, /status and /wait. */
  readonly httpUrl: string;
  /**
   * Resolves when everything up to the ledger end is stored for the first time. Never resolves if the pipeline ends
   * before.
   */
  readonly live: Promise<void>;
  /** Settles when the pipeline has ended: resolves after a stop, rejects with an IndexerError if an error is fatal. */
  readonly done: Promise<void>;
  /** Finishes the current batch within `stopTimeoutMs`, then closes everything. Can be called again. */
  stop(): Promise<void>;
}

/** Builds and starts an indexer. @throws IndexerError when a part cannot be built (configuration, port taken) */
export async function startIndexer(options: IndexerOptions): Promise<Indexer> {
  const lifetime = new Lifetime();
  try {
    return await start(options, lifetime);
  } catch (thrown) {
    // Failures of closing are ignored, because the first failure is the one to report.
    await lifetime.close(failedStartMs).catch(() => undefined);
    throw thrown;
  }
}

async function start(options: IndexerOptions, lifetime: Lifetime): Promise<Indexer> {
  const { config, logging, pace = defaultPace } = options;
  const { logger, progress } = logging;
  const commits = new Commits();
  const waiters = new CheckpointWaiters();
  const work = new WorkTimer();
  const liveSignal = createDeferred();
  const health = new HealthTracker({ ...healthOptions(options), onLive: liveSignal.resolve, work });
  const reads = openReads(options, lifetime);
  const { access, overview, pages, pushed: changeServer, console } = reads;
  const failedLookups = (): number => access.tokens.failures;
  const pool = (): ReturnType<typeof connectionsOf> => connectionsOf(database);
  const sources = { waits: () => waiters.size, changes: changeServer.facts, failedLookups, pool };
  const metrics = metricsOf(options, work, sources);
  const observers = lifetime.own(createObservers({ logger, metrics, health, work, progress }), (part) => part.close());
  // First in the list, so that a listener that a commit wakes can read current status and metrics.
  commits.listen((checkpoint) => observers.checkpointReached(checkpoint));
  commits.listen((checkpoint) => waiters.reached(checkpoint));
  commits.listen(changeServer.reached);
  const database = openStreamDatabase(options, metrics);
  const candidate = lifetime.own(new WriterCandidate(database, config.indexer.leaseMs), (resource) => resource.close());
  // Closed before the lock is released to a standby. When a connection is closed, the server rolls back a transaction
  // that did not end in time.
  lifetime.own([database, pages], async (pools) => void (await Promise.all(pools.map(closeWithin500Ms))));
  const page = lifetime.own(pageOf(options, health, reads.shown, console !== undefined), (part) => part.close());
  const stop = new AbortController();
  const pipelineResources = { database, observers, commits, candidate, stop: stop.signal };
  const parts = pipelineParts(options, { ...pipelineResources, ...requestCounters(metrics, logger) });
  const { metricsMs } = pace;
  const statusOptions = { ...endpointsOf(config), metrics, metricsMs, ...verdictReaders(health), waiters, page };
  const api = apiOf(options, reads, { metrics, waiters });
  const httpEndpoints = { console: console?.endpoint, overview, changes: changeServer.answers, api };
  const http = lifetime.own(await startHttpServer({ ...statusOptions, ...httpEndpoints }), (server) => server.close());
  const pipelineEnd = lifetime.own(runPipeline(parts), (pipelineRun, remainingMs) =>
    endWithin(remainingMs - closingMs, pipelineRun, stop),
  );
  // Callers that await `done` receive the rejection. Until then, it must not end the process.
  pipelineEnd.catch(() => undefined);
  // Closed before the lock is released to a standby, which delivers from then on. The current batch still gets its
  // time.
  const deliveries = startDelivering(options, { pages, logger, metrics, candidate });
  const delivering = lifetime.own(deliveries, (part, remainingMs) =>
    part.close(Math.max(0, remainingMs - closingMs) / 2),
  );
  commits.listen(delivering.reached);
  lifetime.own(changeServer, (resource) => resource.stopping());
  void liveSignal.promise.then(() => watchParties(options, parts, { jobs: health.jobs, stop: stop.signal }));
  let closePromise: Promise<void> | undefined;
  return {
    httpUrl: http.url,
    live: liveSignal.promise,
    done: pipelineEnd,
    stop: () => (closePromise ??= lifetime.close(config.indexer.stopTimeoutMs)),
  };
}

/** Opens the database pools of the HTTP endpoints. Each connects at its first request. */
function openReads(options: IndexerOptions, lifetime: Lifetime) {
  const { config, databaseUrl, pace = defaultPace, logging } = options;
  const { pages, lookups, api } = openReadPools(config, databaseUrl);
  const access = openReaderTokens(lookups, pace, logging.logger);
  const node = nodeTokensOf(options, lookups);
  const callers = new TokenCallers(access.tokens, node?.access);
  const changeServer = openChangeServer(config, pages, callers, pace);
  const pageDatabase = withStatementTimeout(lookups, pageReadMs);
  const console = openConsole(options, callers, { lookups, pages });
  const overview = { callers, limitedRoles: access.limitedRoles };
  // Closed together, because a frozen server delays the close of each of them.
  const opened = { access, callers, overview, pages, api, pushed: changeServer, shown: pageDatabase, console };
  return lifetime.own(opened, async () => {
    access.close();
    node?.close();
    await Promise.all([closeWithin500Ms(lookups), closeWithin500Ms(api), console?.close()]);
  });
}

/** Undefined if `/api` is turned off. */
function apiOf(
  { config, version }: IndexerOptions,
  { api, callers }: ReturnType<typeof openReads>,
  { metrics, waiters }: { readonly metrics: Metrics; readonly waiters: CheckpointWaiters },
) {
  return openApi(config, api, callers, { waiters, version, onAnswer: (facts) => countApiRequest(metrics, facts) });
}

/** Undefined if tokens of the participant are not accepted. */
function nodeTokensOf(options: IndexerOptions, lookups: Database): OpenNodeTokens | undefined {
  const { config, access, ledgerUrl, pace = defaultPace, logging } = options;
  const { nodeAccess } = config.indexer;
  if (nodeAccess === undefined) return undefined;
  return openNodeTokens(nodeAccess, { config, access, ledgerUrl, pace, logger: logging.logger, lookups });
}

/** Counts requests to the participant, and notices of the Postgres server. */
function requestCounters(metrics: Metrics, logger: Logger) {
  const onRequest = (request: RequestFacts): void => countRequest(metrics, request);
  return { onRequest, onNotice: noticeReport({ metrics, logger }) };
}

/** Stops the pipeline. The current batch is committed if that takes no longer than the limit. */
async function endWithin(limitMs: number, pipelineRun: Promise<void>, stop: AbortController): Promise<void> {
  stop.abort();
  await Promise.race([pipelineRun.catch(() => undefined), elapsed(limitMs)]);
}

function closeWithin500Ms(closable: { close(limitMs?: number): Promise<void> }): Promise<void> {
  return closable.close(500);
}

/** Logs configured parties that the participant does not know. */
async function watchParties(
  { config, logging: { logger } }: IndexerOptions,
  { ledger }: PipelineParts,
  watchOptions: { readonly jobs: HealthTracker['jobs']; readonly stop: AbortSignal },
): Promise<void> {
  const unknownOf = async (parties: readonly string[]) =>
    (await unknownParties(ledger, parties)).map((unknownParty) => ({
      party: unknownParty.party,
      sentence: unknownPartySentence(unknownParty),
    }));
  await reportUnknownParties({ ...watchOptions, logger, parties: config.ledger.parties, unknownOf });
}

function endpointsOf({ indexer: { httpHost: host, httpPort: port, httpAllowedHosts: names, corsOrigins } }: Config) {
  return { host, port, names, corsOrigins };
}

function verdictReaders(health: HealthTracker) {
  return { status: () => health.status(), verdict: () => health.verdict() };
}

function openStreamDatabase({ config, databaseUrl: url }: IndexerOptions, metrics: Metrics): Database {
  const { urlFile, schema, statementTimeoutMs } = config.database;
  return openDatabase({
    url,
    urlFile,
    schema,
    statementTimeoutMs,
    applicationName: writerSessionName(schema),
    idleInTransactionMs: config.indexer.leaseMs,
    maxConnections: config.indexer.writeConcurrency + extraConnections,
    onQuery: (op, seconds) => timeQuery(metrics, op, seconds),
  });
}

function pageOf(
  { guide: pageGuide }: IndexerOptions,
  health: HealthTracker,
  pageDatabase: Database,
  hasConsole: boolean,
): StatusPage {
  return new StatusPage({
    health,
    readRecent: () => readRecentFacts(pageDatabase),
    readOutline: (offset) => readUpdateOutline(pageDatabase, offset),
    guide: pageGuide,
    mayQuery: (request) => hasConsole && remoteCallerReason(request) === undefined,
  });
}

function healthOptions({ config, databaseUrl, version }: IndexerOptions): HealthOptions {
  const { stalledAfterMs, ledgerTimeoutMs } = config.indexer;
  const { schema } = config.database;
  return { version, database: databaseLabel(databaseUrl), schema, stalledAfterMs, ledgerTimeoutMs };
}

/** The functions in `sources` are called when the metrics are read, so the database may be opened later. */
function metricsOf(
  options: IndexerOptions,
  work: WorkTimer,
  sources: Pick<MetricsOptions, 'pool' | 'waits' | 'changes' | 'failedLookups'>,
): Metrics {
  const { version, databaseUrl, config } = options;
  const target = { database: databaseLabel(databaseUrl), schema: config.database.schema };
  return createMetrics({ version, commit, target, work, ...sources });
}

function connectionsOf({ pool }: Database): PoolFacts {
  const { totalCount: total, idleCount, waitingCount, options } = pool;
  return { total, idle: idleCount, waiting: waitingCount, max: options.max };
}

function createDeferred(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve = (): void => undefined;
  const deferredPromise = new Promise<void>((resolvePromise) => {
    resolve = resolvePromise;
  });
  return { promise: deferredPromise, resolve };
}
