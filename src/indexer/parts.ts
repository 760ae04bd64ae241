/** Builds the parts of the pipeline from the configuration, for the indexer and for commands that seed on request. */
import type { Config } from '../config/config.ts';
import { type PollIntervals, defaultPace } from '../config/pace.ts';
import { assertTokenConfidential } from '../ledger/access/token.ts';
import { createLedgerClient } from '../ledger/api/client.ts';
import { unreadRelease } from '../ledger/api/release.ts';
import type { LedgerAccess } from '../ledger/open-access.ts';
import { openFrameStream } from '../ledger/transport/frame-stream.ts';
import type { TransportOptions } from '../ledger/transport/transport.ts';
import type { noticeReport } from '../observe/log/notice-report.ts';
import { openTracer } from '../observe/tracing/tracing.ts';
import type { Observers } from '../pipeline/ports/observer.ts';
import type { PipelineLimits, PipelineParts, Retention, Traffic } from '../pipeline/ports/parts.ts';
import type { OpenStream } from '../pipeline/ports/source.ts';
import { openDatabase, type Database } from '../store/connection/database.ts';
import { stagingSchema } from '../store/history/staging.ts';
import type { WriterCandidate } from '../store/lock/writer-lock.ts';
import {
  postgresSink,
  postgresViewStaging,
  postgresEarlierStorage,
  postgresExtensionStorage,
} from '../store/postgres-sink.ts';
import { dropStep, ProjectionJob } from '../store/projections/projection-job.ts';
import { readTrafficRunway } from '../store/reads/traffic-runway.ts';
import { pruneInBackground } from '../store/retention/prune.ts';
import { jobConnections, projectionConnections } from './connections.ts';

/** Longer than the ledger's longest time between two OffsetCheckpoints (75 s). */
const ledgerSilenceMs = 120_000;
const requestTimeoutMs = 20_000;
/**
 * Views of years of history become part of the stream in one statement, and a retention pass may read them all.
 * Milliseconds.
 */
const longStatementMs = 60 * 60_000;
/** The runway of traffic is read from sums. A database that needs longer has more important work; milliseconds. */
const trafficStatementMs = 10_000;

/** Options for the connections to the participant and the database. */
export interface PartsOptions {
  readonly config: Config;
  readonly access: LedgerAccess;
  readonly ledgerUrl: string;
  readonly databaseUrl: string;
  /** Polling intervals; default: the usual ones. */
  readonly pace?: PollIntervals;
}

/** Parts that depend on the process: its database, lock and observers. */
export interface PipelineDependencies {
  readonly database: Database;
  readonly observers: Observers;
  readonly commits: PipelineParts['commits'];
  readonly candidate: WriterCandidate;
  readonly stop: AbortSignal;
  readonly onRequest?: TransportOptions['onRequest'];
  readonly onNotice?: ReturnType<typeof noticeReport>;
}

export function pipelineParts(options: PartsOptions, dependencies: PipelineDependencies): PipelineParts {
  const { config, ledgerUrl, pace = defaultPace } = options;
  const { database, observers, commits, candidate, stop, onRequest, onNotice } = dependencies;
  const { ledger, indexer } = config;
  const { tls, tokenSource } = options.access;
  const { insecure, parties, templates, createdEventBlobs, shape, topology, maxFrameBytes: maxResponseBytes } = ledger;
  const calls = { requestTimeoutMs, maxAnswerBytes: maxResponseBytes, signal: stop, onRequest };
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
    // The release of the participant, and which configured interfaces are requested, are known only in a session.
    release: unreadRelease,
    filter: { parties, templates, interfaces: [], createdEventBlobs, shape, topology },
    wantedInterfaces: ledger.wantedInterfaces,
    viewStaging: viewStaging(options, candidate),
    filterExtensionPlace: filterExtensionStorage(options, candidate),
    earlierPlace: async () =>
      postgresEarlierStorage(openJobDatabase(options, 'history', jobConnections.history.stream), () =>
        candidate.assertHeld(),
      ),
    retention: retention(options),
    projections: projections(options, database),
    traffic: traffic(options, pace),
    start: indexer.start,
    stopAt: indexer.stopAt,
    observers,
    commits,
    tracer: openTracer(),
    quarantine: indexer.quarantine,
    unknownUpdates: indexer.unknownUpdates,
    completions: indexer.completions,
    limits: limitsOf(indexer, pace),
    pace,
    stop,
  };
}

/**
 * Opens a database pool for a background job, which is closed after the job. Its statement timeout allows for large
 * tables.
 */
function openJobDatabase(
  { config, databaseUrl: url }: PartsOptions,
  name: string,
  connections: number,
  {
    schema,
    statementTimeoutMs = longStatementMs,
  }: { readonly schema?: string; readonly statementTimeoutMs?: number } = {},
) {
  const { database, indexer } = config;
  return openDatabase({
    url,
    urlFile: database.urlFile,
    schema: schema ?? database.schema,
    statementTimeoutMs,
    applicationName: `ledger-indexer ${name}`,
    idleInTransactionMs: indexer.leaseMs,
    maxConnections: connections,
  });
}

/** Opens the stream's own tables, and the staging tables of views. */
function viewStaging(options: PartsOptions, candidate: WriterCandidate): PipelineParts['viewStaging'] {
  const staging = stagingSchema(options.config.database.schema, 'interfaces');
  const { stream, staging: stagingConnections } = jobConnections.views;
  return async () =>
    postgresViewStaging(
      openJobDatabase(options, 'views', stream),
      openJobDatabase(options, 'views', stagingConnections, { schema: staging }),
      () => candidate.assertHeld(),
    );
}

/** Opens the stream's own tables, and the staging tables of contracts of an extended filter. */
function filterExtensionStorage(
  options: PartsOptions,
  candidate: WriterCandidate,
): PipelineParts['filterExtensionPlace'] {
  const staging = stagingSchema(options.config.database.schema, 'filter_extend');
  const { stream, staging: stagingConnections } = jobConnections.filterExtension;
  return async () =>
    postgresExtensionStorage(
      openJobDatabase(options, 'filter-extend', stream),
      openJobDatabase(options, 'filter-extend', stagingConnections, { schema: staging }),
      () => candidate.assertHeld(),
    );
}

/** Opens a connection for each retention pass. Undefined for a bounded run, because it does not prune history. */
function retention(options: PartsOptions): Retention | undefined {
  const { retentionMs, retentionIntervalMs: everyMs, stopAt } = options.config.indexer;
  if (retentionMs === undefined || stopAt !== undefined) return undefined;
  return {
    everyMs,
    prune: async (stop, onProgress) => {
      const database = openJobDatabase(options, 'retention', jobConnections.retention.stream);
      try {
        return await pruneInBackground(database, retentionMs, { stop, onProgress });
      } finally {
        await database.close();
      }
    },
  };
}

/** Opens a connection for the projections of a session. If they are off, stored rows are removed. */
function projections(options: PartsOptions, streamDatabase: Database): PipelineParts['projections'] {
  const { projections: kinds } = options.config.indexer;
  if (kinds === 'off') {
    return () => ({ step: () => dropStep(streamDatabase), close: () => Promise.resolve() });
  }
  return () => {
    const { statementTimeoutMs } = options.config.database;
    const database = openJobDatabase(options, 'projections', projectionConnections, { statementTimeoutMs });
    const job = new ProjectionJob(database, kinds);
    return { step: () => job.step(), close: () => database.close(0) };
  };
}

/** Opens a connection for each read, so that no other part waits for it. Undefined for a bounded run. */
function traffic(options: PartsOptions, { trafficMs: everyMs }: PollIntervals): Traffic | undefined {
  if (options.config.indexer.stopAt !== undefined) return undefined;
  return {
    everyMs,
    read: async (stop) => {
      const limits = { statementTimeoutMs: trafficStatementMs };
      const database = openJobDatabase(options, 'traffic', jobConnections.traffic.stream, limits);
      const close = (): void => void database.close(0);
      stop.addEventListener('abort', close, { once: true });
      try {
        return await readTrafficRunway(database);
      } finally {
        stop.removeEventListener('abort', close);
        await database.close();
      }
    },
  };
}

/** A poll begins after half of the limit. With this timeout, a lost response is requested again before the limit. */
function pollTimeoutMs({ ledgerTimeoutMs }: Config['indexer']): number {
  return Math.min(requestTimeoutMs, 0.4 * ledgerTimeoutMs);
}

function limitsOf(indexer: Config['indexer'], pace: PollIntervals): PipelineLimits {
  return {
    batchUpdates: indexer.batchUpdates,
    batchBytes: indexer.batchBytes,
    bufferUpdates: indexer.bufferUpdates,
    bufferBytes: indexer.bufferBytes,
    writeConcurrency: indexer.writeConcurrency,
    retryMaxDelayMs: indexer.retryMaxDelayMs,
    progressTimeoutMs: indexer.progressTimeoutMs,
    // Within the limit on an unknown ledger end, one response may be lost.
    pollMs: Math.min(pace.ledgerEndMs, indexer.ledgerTimeoutMs / 2),
    idleProbeAfterMs: indexer.idleProbeAfterMs,
    silenceMs: ledgerSilenceMs,
  };
}

function streamOpener({ ledgerUrl: url, config, access: { tls } }: PartsOptions): OpenStream {
  const { pingIntervalMs } = config.indexer;
  const { insecure, tokenPlacement, maxFrameBytes: maxPayloadBytes } = config.ledger;
  return (stream) => {
    assertTokenConfidential(url, stream.token, insecure);
    return openFrameStream({ url, tls, tokenPlacement, pingIntervalMs, maxPayloadBytes, ...stream });
  };
}
