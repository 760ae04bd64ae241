/**
 * The composition root: builds every part from the configuration, runs the pipeline, and takes everything down in
 * reverse order. One instance is one stream: one participant into one schema.
 */
import type { LedgerAccess } from '../ledger/open-access.ts';
import type { Config } from '../config/config.ts';
import { createLedgerClient } from '../ledger/api/client.ts';
import { unreadRelease } from '../ledger/api/release.ts';
import { openFrameStream } from '../ledger/transport/frame-stream.ts';
import { assertTokenMayTravel } from '../ledger/access/token.ts';
import type { RequestFacts, TransportOptions } from '../ledger/transport/transport.ts';
import { inWords, unknownParties } from '../ledger/api/unknown-parties.ts';
import { CheckpointWaiters } from '../observe/health/checkpoint-waiters.ts';
import { type HealthOptions, HealthTracker } from '../observe/health/health-tracker.ts';
import { noticeReport } from '../observe/log/notice-report.ts';
import { watchUnknownParties } from '../observe/log/party-report.ts';
import { startHttpServer, type RunningHttpServer } from '../observe/http/http-server.ts';
import { notFromHere } from '../observe/http/local-caller.ts';
import { createObserver, type IndexerObserver } from '../observe/indexer-observer.ts';
import type { Logging } from '../observe/log/logger.ts';
import {
  countRequest,
  createMetrics,
  type Metrics,
  type MetricsOptions,
  type PoolFacts,
  timeQuery,
} from '../observe/metrics/metrics.ts';
import { type Pace, usualPace } from '../config/pace.ts';
import type { PageGuide } from '../observe/page/messages.ts';
import { StatusPage } from '../observe/page/status-page.ts';
import { openTracer } from '../observe/tracing/tracing.ts';
import { WorkClock } from '../observe/figures/work-clock.ts';
import type { PipelineLimits, PipelineParts, Retention } from '../pipeline/ports/parts.ts';
import type { OpenStream } from '../pipeline/ports/source.ts';
import { runPipeline } from '../pipeline/run.ts';
import { type ConsoleParts, openConsole } from './console.ts';
import { openPushedChanges, type PushedChanges } from './changes.ts';
import { openReaderTokens, type OpenTokens } from './reader-tokens.ts';
import { openDatabase, type Database } from '../store/connection/database.ts';
import { placeOf } from '../store/connection/hosts.ts';
import { readRecentFacts } from '../store/reads/recent-facts.ts';
import { readUpdateOutline } from '../store/reads/update-outline.ts';
import { WriterCandidate, writerSessionName } from '../store/lock/writer-lock.ts';
import { pruneBeside } from '../store/retention/prune.ts';
import { stagingSchema } from '../store/history/staging.ts';
import {
  postgresSink,
  postgresViewStaging,
  postgresEarlierPlace,
  postgresWideningPlace,
} from '../store/postgres-sink.ts';
import { commit } from '../version.ts';
import { type Delivering, startDelivering } from './webhooks.ts';

/** Longer than the longest silence the ledger allows itself between OffsetCheckpoints (75 s). */
const ledgerSilenceMs = 120_000;
const requestTimeoutMs = 20_000;
/** Views of years of history become part of the stream in one statement, and a look for what is old may read them all. */
const longStatementMs = 60 * 60_000;
/** The page is worth less than a busy server's time. */
const pageReadMs = 500;
/** Connections for what runs beside the lanes (polls, packages, views), so that no lane waits for one. */
const besideLanes = 3;

export interface IndexerOptions {
  readonly config: Config;
  readonly access: LedgerAccess;
  readonly ledgerUrl: string;
  readonly databaseUrl: string;
  readonly version: string;
  readonly logging: Logging;
  /** What the status page gives to paste; nothing by default. */
  readonly guide?: PageGuide;
  /** What the query page needs; there is none without it. */
  readonly console?: ConsoleParts;
  /** Intervals of polling; the usual ones by default. */
  readonly pace?: Pace;
}

export interface Indexer {
  /** Base URL of the pages, /metrics, /livez, /readyz, /status and /wait. */
  readonly httpUrl: string;
  /** Resolves when everything up to the ledger end is stored for the first time; never when it ends before. */
  readonly live: Promise<void>;
  /** Settles when the pipeline has ended: resolved after a stop, rejected with an IndexerError when fatal. */
  readonly done: Promise<void>;
  /** Finishes the batch in flight, at most `stopTimeoutMs`, then takes everything down. Can be called again. */
  stop(): Promise<void>;
}

/** Builds and starts. @throws IndexerError when a part cannot be built (configuration, port taken) */
export async function startIndexer(options: IndexerOptions): Promise<Indexer> {
  const { config, logging, pace = usualPace } = options;
  const waiters = new CheckpointWaiters();
  const work = new WorkClock();
  let onLive = (): void => undefined;
  const live = new Promise<void>((resolve) => {
    onLive = resolve;
  });
  const access = openReaderTokens(config, options.databaseUrl, pace);
  const pushed = openPushedChanges(config, options.databaseUrl, access.tokens, pace);
  const onCheckpoint = (checkpoint: number): void => {
    for (const told of [waiters, pushed, delivering]) told.reached(checkpoint);
  };
  const health = new HealthTracker({ ...healthOptions(options), onCheckpoint, onLive, work });
  const asked = { waits: () => waiters.size, changes: pushed.facts, pool: () => connectionsOf(database) };
  const metrics = metricsOf(options, work, asked);
  const observer = createObserver({ logger: logging.logger, metrics, health, work, progress: logging.progress });
  const database = openForStream(options, metrics);
  const shown = openForPage(options);
  const console = openConsole(options, access.tokens);
  const page = pageOf(options, health, shown, console !== undefined);
  const candidate = new WriterCandidate(database, config.indexer.leaseMs);
  const delivering = startDelivering(options, { logger: logging.logger, metrics, candidate });
  try {
    const stop = new AbortController();
    const onRequest = (request: RequestFacts): void => countRequest(metrics, request);
    const onNotice = noticeReport({ metrics, logger: logging.logger });
    const parts = pipelineParts(options, { database, observer, candidate, stop: stop.signal, onRequest, onNotice });
    const http = await startHttpServer({
      ...endpointsOf(config),
      metrics,
      metricsMs: pace.metricsMs,
      status: () => health.status(),
      verdict: () => health.verdict(),
      waiters,
      page,
      console: console?.endpoint,
      overview: access,
      changes: pushed.answers,
    });
    const opened = { database, shown, pushed, access, delivering, closeConsole: console?.close };
    return new RunningIndexer(options, { stop, parts, http, health, live, ...opened, observer, candidate });
  } catch (thrown) {
    observer.close();
    page.close();
    await Promise.all([database.close(), shown.close(), pushed.close(), delivering.close(0), console?.close()]);
    await access.close();
    throw thrown;
  }
}

function endpointsOf({ indexer: { httpHost: host, httpPort: port, httpNames: names, corsOrigins } }: Config) {
  return { host, port, names, corsOrigins };
}

function openForStream({ config, databaseUrl: url }: IndexerOptions, metrics: Metrics): Database {
  const { urlFile, schema, statementTimeoutMs } = config.database;
  return openDatabase({
    url,
    urlFile,
    schema,
    statementTimeoutMs,
    applicationName: writerSessionName(schema),
    idleInTransactionMs: config.indexer.leaseMs,
    maxConnections: config.indexer.writeLanes + besideLanes,
    onQuery: (op, seconds) => timeQuery(metrics, op, seconds),
  });
}

function pageOf({ guide }: IndexerOptions, health: HealthTracker, shown: Database, hasConsole: boolean): StatusPage {
  return new StatusPage({
    health,
    readRecent: () => readRecentFacts(shown),
    readOutline: (offset) => readUpdateOutline(shown, offset),
    guide,
    mayQuery: (request) => hasConsole && notFromHere(request) === undefined,
  });
}

function healthOptions({ config, databaseUrl, version }: IndexerOptions): HealthOptions {
  const { stalledAfterMs, blindAfterMs } = config.indexer;
  const { schema } = config.database;
  return { version, database: placeOf(databaseUrl), schema, stalledAfterMs, blindAfterMs };
}

/** @param asked when the metrics are read, so the database may be opened later */
function metricsOf(
  options: IndexerOptions,
  work: WorkClock,
  asked: Pick<MetricsOptions, 'pool' | 'waits' | 'changes'>,
): Metrics {
  const { version, databaseUrl, config } = options;
  const target = { database: placeOf(databaseUrl), schema: config.database.schema };
  return createMetrics({ version, commit, target, work, ...asked });
}

function connectionsOf({ pool }: Database): PoolFacts {
  const { totalCount: total, idleCount: idle, waitingCount: waiting, options } = pool;
  return { total, idle, waiting, max: options.max };
}

/** One connection for what the page shows, made while somebody looks: no lane waits for it, and it soon gives up. */
function openForPage({ config: { database }, databaseUrl: url }: IndexerOptions): Database {
  const { urlFile, schema } = database;
  const applicationName = 'ledger-indexer page';
  return openDatabase({ url, urlFile, schema, statementTimeoutMs: pageReadMs, applicationName, maxConnections: 1 });
}

interface Running {
  readonly stop: AbortController;
  readonly parts: PipelineParts;
  readonly http: RunningHttpServer;
  readonly health: HealthTracker;
  readonly live: Promise<void>;
  readonly database: Database;
  /** What the status page reads from. */
  readonly shown: Database;
  readonly pushed: PushedChanges;
  readonly access: OpenTokens;
  readonly delivering: Delivering;
  readonly closeConsole: (() => Promise<void>) | undefined;
  readonly observer: IndexerObserver;
  readonly candidate: WriterCandidate;
}

class RunningIndexer implements Indexer {
  readonly httpUrl: string;
  readonly live: Promise<void>;
  readonly done: Promise<void>;
  readonly #running: Running;
  readonly #stopTimeoutMs: number;
  #stopped: Promise<void> | undefined;

  constructor(options: IndexerOptions, running: Running) {
    this.#running = running;
    this.#stopTimeoutMs = options.config.indexer.stopTimeoutMs;
    this.httpUrl = running.http.url;
    this.live = running.live;
    this.done = runPipeline(running.parts);
    // Whoever waits for `done` sees the rejection; until then it must not end the process.
    this.done.catch(() => undefined);
    const { parts, health, stop } = running;
    const watched = {
      health,
      logger: options.logging.logger,
      stop: stop.signal,
      parties: options.config.ledger.parties,
    };
    const unknownOf = async (parties: readonly string[]) =>
      (await unknownParties(parts.ledger, parties)).map((each) => ({ party: each.party, sentence: inWords(each) }));
    void this.live.then(() => watchUnknownParties({ ...watched, unknownOf }));
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#takeDown();
    return this.#stopped;
  }

  async #takeDown(): Promise<void> {
    const { stop, http, database, shown, pushed, access, delivering, closeConsole, observer, candidate } =
      this.#running;
    const limit = Math.max(0, this.#stopTimeoutMs - 4_000);
    const until = performance.now() + limit;
    pushed.stopping();
    // Before the lock goes to a standby, which delivers from then on; the batch in hand has its time all the same.
    await delivering.close(limit / 2);
    stop.abort();
    // What does not end in time is rolled back by the server when its connection is cut.
    await Promise.race([this.done.catch(() => undefined), elapsed(Math.max(0, until - performance.now()))]);
    await Promise.all([database, shown, pushed, access].map((opened) => opened.close(500)));
    await Promise.all([closeConsole?.(), candidate.close()]);
    await http.close();
    observer.close();
  }
}

function elapsed(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms).unref();
  });
}

/** What the pipeline needs of the configuration; commands that seed by hand take it too. */
export function pipelineParts(
  options: IndexerOptions,
  built: Pick<Running, 'database' | 'observer' | 'candidate'> & {
    readonly stop: AbortSignal;
    readonly onRequest?: TransportOptions['onRequest'];
    readonly onNotice?: ReturnType<typeof noticeReport>;
  },
): PipelineParts {
  const { config, ledgerUrl, pace = usualPace } = options;
  const { database, observer, candidate, stop, onRequest, onNotice } = built;
  const { ledger, indexer } = config;
  const { tls, tokenSource } = options.access;
  const { insecure, parties, templates, createdEventBlobs, shape, topology, maxFrameBytes: maxAnswerBytes } = ledger;
  const calls = { requestTimeoutMs, maxAnswerBytes, signal: stop, onRequest };
  const client = { url: ledgerUrl, tokenSource, tls, insecure, ...calls };
  return {
    ledger: createLedgerClient(client),
    polledLedger: createLedgerClient({ ...client, requestTimeoutMs: pollTimeoutMs(indexer) }),
    openStream: streamOpener(options),
    tokenSource,
    sink: postgresSink(database, candidate, {
      migrate: config.database.migrate,
      exerciseJson: indexer.exerciseJson,
      notify: indexer.notify,
      onNotice,
    }),
    // Which release the participant has, and which of the wanted interfaces are asked for, is known in a session only.
    release: unreadRelease,
    filter: { parties, templates, interfaces: [], createdEventBlobs, shape, topology },
    wantedInterfaces: ledger.wantedInterfaces,
    viewStaging: viewStaging(options, candidate),
    wideningPlace: wideningPlace(options, candidate),
    earlierPlace: async () => postgresEarlierPlace(openBeside(options, 'history', 1), () => candidate.assertHeld()),
    retention: retention(options),
    start: indexer.start,
    stopAt: indexer.stopAt,
    observer,
    tracer: openTracer(),
    quarantine: indexer.quarantine,
    unknownUpdates: indexer.unknownUpdates,
    completions: indexer.completions,
    limits: limitsOf(indexer, pace),
    pace,
    stop,
  };
}

/** For work beside the stream: opened when there is some, and closed after it, with time for large tables. */
function openBeside({ config, databaseUrl: url }: IndexerOptions, name: string, connections: number, schema?: string) {
  const { database, indexer } = config;
  return openDatabase({
    url,
    urlFile: database.urlFile,
    schema: schema ?? database.schema,
    statementTimeoutMs: longStatementMs,
    applicationName: `ledger-indexer ${name}`,
    idleInTransactionMs: indexer.leaseMs,
    maxConnections: connections,
  });
}

/** The stream's own tables, and those in which views are gathered. */
function viewStaging(options: IndexerOptions, candidate: WriterCandidate): PipelineParts['viewStaging'] {
  const staging = stagingSchema(options.config.database.schema, 'interfaces');
  return async () =>
    postgresViewStaging(openBeside(options, 'views', 2), openBeside(options, 'views', 2, staging), () =>
      candidate.assertHeld(),
    );
}

/** The stream's own tables, and those in which contracts of a wider filter are gathered. */
function wideningPlace(options: IndexerOptions, candidate: WriterCandidate): PipelineParts['wideningPlace'] {
  const staging = stagingSchema(options.config.database.schema, 'widen');
  return async () =>
    postgresWideningPlace(openBeside(options, 'widen', 2), openBeside(options, 'widen', 2, staging), () =>
      candidate.assertHeld(),
    );
}

/** A connection for each look at old history. A run with an end is no daemon: it leaves history alone. */
function retention(options: IndexerOptions): Retention | undefined {
  const { keepMs, pruneEveryMs: everyMs, stopAt } = options.config.indexer;
  if (keepMs === undefined || stopAt !== undefined) return undefined;
  return {
    everyMs,
    prune: async (stop, onProgress) => {
      const database = openBeside(options, 'retention', 1);
      try {
        return await pruneBeside(database, keepMs, { stop, onProgress });
      } finally {
        await database.close();
      }
    },
  };
}

/** Half of the time is up when a poll begins: with this an answer that is lost is asked for again before all of it is. */
function pollTimeoutMs({ blindAfterMs }: Config['indexer']): number {
  return Math.min(requestTimeoutMs, 0.4 * blindAfterMs);
}

function limitsOf(indexer: Config['indexer'], pace: Pace): PipelineLimits {
  return {
    batchUpdates: indexer.batchUpdates,
    batchBytes: indexer.batchBytes,
    inboxUpdates: indexer.inboxUpdates,
    inboxBytes: indexer.inboxBytes,
    writeLanes: indexer.writeLanes,
    retryMaxMs: indexer.retryMaxMs,
    giveUpAfterMs: indexer.giveUpAfterMs,
    // A limit on not knowing the ledger end allows for one question that is lost.
    pollMs: Math.min(pace.ledgerEndMs, indexer.blindAfterMs / 2),
    askAfterMs: indexer.askAfterMs,
    silenceMs: ledgerSilenceMs,
  };
}

function streamOpener({ ledgerUrl: url, config, access: { tls } }: IndexerOptions): OpenStream {
  const { pingIntervalMs } = config.indexer;
  const { insecure, tokenPlacement, maxFrameBytes: maxPayloadBytes } = config.ledger;
  return (stream) => {
    assertTokenMayTravel(url, stream.token, insecure);
    return openFrameStream({ url, tls, tokenPlacement, pingIntervalMs, maxPayloadBytes, ...stream });
  };
}
