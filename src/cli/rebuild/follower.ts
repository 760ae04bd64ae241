/**
 * Fills the new schema next to the live one with the pipeline of the indexer, which has its own tables and no readers.
 */
import { openAccess } from '../../ledger/open-access.ts';
import type { Config } from '../../config/config.ts';
import { pipelineParts } from '../../indexer/parts.ts';
import { WorkTimer } from '../../observe/figures/work-clock.ts';
import { HealthTracker } from '../../observe/health/health-tracker.ts';
import { createObservers } from '../../observe/indexer-observer.ts';
import type { Logging } from '../../observe/log/logger.ts';
import { createMetrics } from '../../observe/metrics/metrics.ts';
import { Commits } from '../../pipeline/ports/commits.ts';
import type { PipelineParts } from '../../pipeline/ports/parts.ts';
import { runPipeline } from '../../pipeline/run.ts';
import { openDatabase, type Database } from '../../store/connection/database.ts';
import { readStream } from '../../store/history/maintenance.ts';
import { isQuarantined } from '../../store/history/stored-marks.ts';
import { WriterCandidate, writerSessionName } from '../../store/lock/writer-lock.ts';
import type { StreamIdentity } from '../../model/stream.ts';
import { openSession } from '../../store/write/session.ts';
import { version } from '../../version.ts';
import { configurationError } from '../command-line/refusals.ts';

/** Number of connections in addition to those for writing: polls, packages, and requests of the rebuild itself. */
const extraConnections = 4;

export interface FollowerOptions {
  /** Configuration with the database to fill. */
  readonly config: Config;
  /** Handle for the live schema. */
  readonly live: Database;
  /** Name of the schema to fill. */
  readonly schema: string;
  /** Label of the database that hands over to the schema, if it is another database. */
  readonly filledFrom?: string | undefined;
  readonly start: PipelineParts['start'];
  readonly logging: Logging;
  /** Aborted when the operator requests a stop. */
  readonly stop: AbortSignal;
}

/** The pipeline that fills the schema. It may be stopped and started repeatedly. */
export class Follower {
  readonly database: Database;
  readonly #options: FollowerOptions;
  readonly #partsFor: (stop: AbortSignal) => PipelineParts;
  readonly #candidate: WriterCandidate;
  readonly #health: HealthTracker;
  readonly #close: () => void;
  #stop: AbortController | undefined;
  #running: Promise<void> | undefined;
  #failure: unknown;

  private constructor(options: FollowerOptions, follower: FollowerParts) {
    this.#options = options;
    this.database = follower.database;
    this.#partsFor = follower.partsFor;
    this.#candidate = follower.candidate;
    this.#health = follower.health;
    this.#close = follower.close;
  }

  /** @throws IndexerError CONFIGURATION_INVALID without a ledger */
  static async open(options: FollowerOptions): Promise<Follower> {
    return new Follower(options, await build(options));
  }

  /** The parts for streams of this ledger with this filter. */
  parts(): PipelineParts {
    return this.#partsFor(this.#options.stop);
  }

  start(): void {
    if (this.#running !== undefined) return;
    const stop = new AbortController();
    this.#stop = stop;
    this.#running = runPipeline(this.#partsFor(AbortSignal.any([stop.signal, this.#options.stop]))).catch(
      (thrown: unknown) => {
        this.#failure = thrown;
      },
    );
  }

  /** Commits the current batch and releases the writer lock. */
  async stop(): Promise<void> {
    this.#stop?.abort();
    await this.#running;
    this.#running = undefined;
  }

  /** Why the pipeline waits for an operator; undefined if it does not. @throws the error that ended the pipeline */
  trouble(): string | undefined {
    if (this.#failure !== undefined) throw this.#failure;
    const { state, reason } = this.#health.verdict();
    return state === 'parked' ? reason : undefined;
  }

  /**
   * Follows exactly up to this offset, so that one snapshot can read both schemas. Does not wait for completions.
   * @returns whether the offset was reached in time, or was passed before
   */
  async followTo(offset: number, limitMs: number): Promise<boolean> {
    if ((await this.checkpoint()) < offset) {
      const deadline = new AbortController();
      const timer = setTimeout(() => deadline.abort(), limitMs);
      const parts = this.#partsFor(AbortSignal.any([deadline.signal, this.#options.stop]));
      await runPipeline({ ...parts, ...withoutProgressTimeout(parts), stopAt: offset, completions: 'off' }).finally(
        () => clearTimeout(timer),
      );
    }
    return (await this.checkpoint()) >= offset;
  }

  /** The checkpoint of the new schema; -1 before its seed is published. */
  async checkpoint(): Promise<number> {
    const stream = await readStream(this.database);
    return stream?.seeded === true ? (stream.checkpoint ?? -1) : -1;
  }

  async close(): Promise<void> {
    await this.stop();
    await this.#candidate.close();
    this.#close();
    await this.database.close();
  }
}

interface FollowerParts {
  readonly database: Database;
  readonly candidate: WriterCandidate;
  readonly health: HealthTracker;
  readonly partsFor: (stop: AbortSignal) => PipelineParts;
  readonly close: () => void;
}

async function build({
  config,
  live: liveDatabase,
  schema,
  filledFrom,
  start,
  logging,
  stop,
}: FollowerOptions): Promise<FollowerParts> {
  const { url: ledgerUrl } = config.ledger;
  const { url: databaseUrl } = config.database;
  if (ledgerUrl === undefined || databaseUrl === undefined) {
    throw configurationError('LEDGER_URL is not set', 'set LEDGER_URL to the participant whose history to index again');
  }
  const { leaseMs, writeConcurrency, stalledAfterMs } = config.indexer;
  const database = openDatabase({
    url: databaseUrl,
    urlFile: config.database.urlFile,
    schema,
    statementTimeoutMs: config.database.statementTimeoutMs,
    applicationName: writerSessionName(schema),
    idleInTransactionMs: leaseMs,
    maxConnections: writeConcurrency + extraConnections,
  });
  const access = await openAccess(config.ledger, stop);
  const work = new WorkTimer();
  const health = new HealthTracker({ version, schema, stalledAfterMs, work });
  const { logger, progress } = logging;
  const observers = createObservers({ logger, metrics: createMetrics({ version }), health, work, progress });
  const commits = new Commits();
  commits.listen((checkpoint) => observers.checkpointReached(checkpoint));
  const candidate = new WriterCandidate(database, leaseMs);
  const options = { config: fillConfig(config, schema), access, ledgerUrl, databaseUrl, version, logging };
  const fill = { notify: false, assertHeld: () => candidate.assertHeld(), filledFrom };
  const openFill = (identity: StreamIdentity) => openSession(database, identity, fill);
  const createParts = (stopSignal: AbortSignal): PipelineParts => {
    const parts = pipelineParts(options, { database, observers, commits, candidate, stop: stopSignal });
    return { ...parts, start, ...fillParts(parts, liveDatabase, openFill) };
  };
  return { database, candidate, health, partsFor: createParts, close: () => observers.close() };
}

/** The configuration for filling: no listeners, no pruning, and no end before the schema has caught up. */
function fillConfig(config: Config, schema: string): Config {
  const { database, indexer } = config;
  return {
    ...config,
    database: { ...database, schema },
    indexer: { ...indexer, notify: false, retentionMs: undefined, stopAt: undefined },
  };
}

/**
 * Differences from a regular indexer: the read side is not created, and updates that are quarantined in the live schema
 * may be quarantined here.
 */
function fillParts(
  parts: PipelineParts,
  liveDatabase: Database,
  openFill: PipelineParts['sink']['openSession'],
): Pick<PipelineParts, 'sink' | 'quarantine' | 'mayQuarantine'> {
  const { sink, quarantine } = parts;
  return {
    sink: {
      ...sink,
      // The tables were created before the pipeline starts.
      prepare: () => Promise.resolve(),
      openSession: openFill,
      packages: { ...sink.packages, syncViews: () => Promise.resolve({ made: [], failed: [] }) },
    },
    quarantine: true,
    mayQuarantine: async (offset) => quarantine || (await isQuarantined(liveDatabase, offset)),
  };
}

/** Without a limit on progress, because the waiting caller decides how long a step may take. */
function withoutProgressTimeout({ limits }: PipelineParts): Pick<PipelineParts, 'limits'> {
  return { limits: { ...limits, progressTimeoutMs: Number.POSITIVE_INFINITY } };
}
