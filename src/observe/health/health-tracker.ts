/**
 * Derives the verdict, the status document and the rates from the reports of the observers. The monotonic clock is
 * injected.
 */
import type { IndexerError } from '../../errors/indexer-error.ts';
import { holderText, type LockHolder, type Phase } from '../../model/stream.ts';
import type { BatchFacts, ProbeAnswer } from '../../pipeline/ports/observer.ts';
import { CatchUp, type CatchUpProgress, Lag } from '../figures/lag.ts';
import { rounded, roundShare } from '../figures/rates.ts';
import { scrub } from '../figures/scrub.ts';
import type { ByWorkPart, WorkTimer } from '../figures/work-clock.ts';
import { Currency } from './currency.ts';
import { type HealthFacts, type HealthState, isLedgerTimedOut, verdictOf, type Verdict } from './health.ts';
import { JobHealth, type JobStatus } from './job-health.ts';
import { formatError, type RecentError, RecentErrors } from './recent-errors.ts';
import { SourceHealth } from './source-health.ts';
import { type SeedStatus, Throughput } from './throughput.ts';
import { type Delay, delayOf } from './why-behind.ts';

/** Inputs of the health of a process, and the callback `onLive`. */
export interface HealthOptions {
  readonly version: string;
  /** `host:port/name`, without secrets. */
  readonly database?: string;
  readonly schema: string;
  readonly stalledAfterMs: number;
  /** Time without a ledger-end response or a frame after which the ledger counts as timed out; default 10 s. */
  readonly ledgerTimeoutMs?: number;
  /** Called once, when everything up to the ledger end is stored for the first time. */
  readonly onLive?: () => void;
  /** Measures the time shares of the stream. */
  readonly work?: Pick<WorkTimer, 'shares'>;
  /** Returns monotonic milliseconds; default `performance.now`. */
  readonly now?: () => number;
  /** Returns milliseconds since 1970; default `Date.now`. */
  readonly wallNow?: () => number;
}

/** Response of `/status`. Counts begin at the start of the process. */
export interface StatusDocument extends JobStatus {
  readonly state: HealthState;
  readonly reason: string;
  /** Remedy for the error in `reason`; null if `reason` contains no error. */
  readonly remedy: string | null;
  readonly checkpoint: number | null;
  readonly ledgerEnd: number | null;
  /** Seconds since the ledger end was received. */
  readonly ledgerEndAgeSeconds: number | null;
  readonly offsetsBehind: number | null;
  /**
   * Age of the newest stored record time, or time since everything was stored, if that is shorter. 0 if everything is
   * known to be stored.
   */
  readonly lagSeconds: number | null;
  readonly updatesPerSecond: number;
  readonly eventsPerSecond: number;
  readonly seed: SeedStatus | null;
  /** Contracts per second during a seed, otherwise 0. */
  readonly seedContractsPerSecond: number;
  /** Progress of a catch-up; null if none is running. */
  readonly catchUp: CatchUpProgress | null;
  /** Mean time from BEGIN to COMMIT of the batches of the last ten seconds; null if there were none. */
  readonly commitMilliseconds: number | null;
  /** Mean time from record time to commit, of the newest updates of those batches; null if there were none. */
  readonly ingestLatencySeconds: number | null;
  /**
   * Shares of the last ten seconds, from 0 to 1, that were spent waiting for the source, decoding, and waiting for the
   * database.
   */
  readonly timeShares: ByWorkPart | null;
  /** Why the stream is behind. If it is not behind, says so. */
  readonly delay: Delay;
  /** The last failures by kind, newest first; `lastError` is the first of them. */
  readonly errors: readonly RecentError[];
  readonly counts: {
    readonly updates: Readonly<Record<string, number>>;
    readonly events: Readonly<Record<string, number>>;
  };
  readonly lastError: { readonly code: string; readonly message: string; readonly at: string } | null;
  readonly participantId: string | null;
  /** The session that holds the writer lock. It belongs to this process or to another one. Null if unknown. */
  readonly lockHolder: LockHolder | null;
  /** The database that the indexer writes to: `host:port/name` from its own URL; null if not configured. */
  readonly database: string | null;
  readonly schema: string;
  readonly version: string;
  readonly startedAt: string;
}

export class HealthTracker {
  readonly now: () => number;
  readonly wallNow: () => number;
  readonly jobs = new JobHealth();
  readonly throughput: Throughput;
  readonly source: SourceHealth;
  readonly #options: HealthOptions;
  readonly #startedAt: number;
  readonly #catchUp = new CatchUp();
  readonly #errors = new RecentErrors();
  readonly #lag = new Lag();
  #phase: Phase = 'starting';
  #phaseSinceMs: number;
  #reason: IndexerError | undefined;
  #checkpoint: number | undefined;
  #waitingSinceMs: number | undefined;
  /** Result of probing the offsets between the checkpoint and the ledger end; undefined if they were not probed. */
  #probeAnswer: ProbeAnswer | undefined;
  #committedAtMs: number | undefined;
  readonly #currency = new Currency();
  #lastError: StatusDocument['lastError'] = null;
  #storedFound: number | undefined;
  #lockHolder: LockHolder | undefined;

  constructor(options: HealthOptions) {
    this.#options = options;
    this.now = options.now ?? (() => performance.now());
    this.wallNow = options.wallNow ?? (() => Date.now());
    this.throughput = new Throughput(this);
    this.source = new SourceHealth(this.now);
    this.#startedAt = this.wallNow();
    this.#phaseSinceMs = this.now();
  }

  get phase(): Phase {
    return this.#phase;
  }

  get checkpoint(): number | undefined {
    return this.#checkpoint;
  }

  get ledgerEnd(): number | undefined {
    return this.source.ledgerEnd;
  }

  /** Records the session that holds the writer lock. @returns whether it differs from the last one */
  lockHeld(holder: LockHolder | undefined): boolean {
    const isNew = holder?.pid !== this.#lockHolder?.pid;
    this.#lockHolder = holder;
    return isNew;
  }

  phaseChanged(phase: Phase, reason: IndexerError | undefined): void {
    // This is checked first, because the verdict must be the verdict of the phase that ends.
    if (this.#currency.phaseChanged(phase, this.verdict().ready)) this.#options.onLive?.();
    // A retry in the same phase must not restart the measurement of how long it has failed.
    if (phase !== this.#phase) this.#phaseSinceMs = this.now();
    this.#phase = phase;
    this.#reason = reason;
  }

  batchCommitted(batch: BatchFacts): void {
    this.#committedAtMs = this.now();
    if (batch.recordTimeMs !== undefined) this.#lag.recorded(batch.recordTimeMs);
    this.throughput.batchCommitted(batch);
  }

  ledgerPolled(ledgerEnd: number): void {
    const wasReady = this.verdict().ready;
    this.source.endLearned(ledgerEnd);
    this.#currency.ledgerEndLearned(this.#distance(), this.#phase, wasReady);
    this.#lag.ledgerEndLearned(this.now(), this.#distance() === 0);
    if (this.#distance() === 0) this.#waitingSinceMs = undefined;
    else this.#waitingSinceMs ??= this.now();
  }

  idleProbed(probeAnswer: ProbeAnswer): void {
    this.#probeAnswer = probeAnswer;
  }

  failed(error: IndexerError): void {
    this.source.failed(error);
    const wallTime = new Date(this.wallNow());
    this.#lastError = { code: error.code, message: error.message, at: wallTime.toISOString() };
    this.#errors.add(error, wallTime);
  }

  verdict(): Verdict {
    return verdictOf(this.#facts(), this.now());
  }

  #facts(): HealthFacts {
    const { stalledAfterMs, ledgerTimeoutMs = 10_000 } = this.#options;
    return {
      phase: this.#phase,
      phaseSinceMs: this.#phaseSinceMs,
      checkpoint: this.#checkpoint,
      ...this.source.facts(),
      ledgerTimeoutMs,
      waitingSinceMs: this.#waitingSinceMs,
      committedAtMs: this.#committedAtMs,
      caughtUp: this.#currency.isCurrent,
      stalledAfterMs,
      reason: this.#phase === 'standby' ? this.#heldBy() : this.#reason && formatError(this.#reason),
      remedy: this.#reason && scrub(this.#reason.remedy),
    };
  }

  status(): StatusDocument {
    const { state, reason, remedy = null } = this.verdict();
    const { ageMs, participantId = null } = this.source;
    const offsetLag = this.#distance();
    const { database = null, schema, version } = this.#options;
    return {
      state,
      reason,
      remedy,
      checkpoint: this.#checkpoint ?? this.#storedFound ?? null,
      ledgerEnd: this.ledgerEnd ?? null,
      ledgerEndAgeSeconds: ageMs === undefined ? null : rounded(ageMs / 1000),
      offsetsBehind: offsetLag ?? null,
      lagSeconds: this.#lagSeconds(offsetLag),
      ...this.throughput.rates(),
      ...this.#work(state, reason, offsetLag),
      ...this.jobs.status(),
      errors: this.#errors.all,
      counts: this.throughput.counts(),
      lastError: this.#lastError,
      participantId,
      lockHolder: this.#lockHolder ?? null,
      database,
      schema,
      version,
      startedAt: new Date(this.#startedAt).toISOString(),
    };
  }

  /** Throughput and bottleneck. */
  #work(
    state: HealthState,
    reason: string,
    offsetLag: number | undefined,
  ): Pick<
    StatusDocument,
    'seedContractsPerSecond' | 'catchUp' | 'commitMilliseconds' | 'ingestLatencySeconds' | 'timeShares' | 'delay'
  > {
    this.#catchUp.note(this.#phase, this.now(), this.#checkpoint, this.ledgerEnd);
    const timeShares = this.#options.work?.shares() ?? null;
    return {
      seedContractsPerSecond: this.#phase === 'seeding' ? rounded(this.throughput.seedContractsPerSecond) : 0,
      catchUp: this.#catchUp.progress() ?? null,
      ...this.throughput.batchTimes(),
      timeShares: timeShares && {
        source: roundShare(timeShares.source),
        decode: roundShare(timeShares.decode),
        database: roundShare(timeShares.database),
      },
      delay: delayOf({ state, reason, distance: offsetLag, timeShares, probeAnswer: this.#probeAnswer }),
    };
  }

  /** The stored checkpoint, before the ledger is verified. It is reported, but it does not affect the verdict. */
  storedFound(checkpoint: number): void {
    this.#storedFound = checkpoint;
  }

  /**
   * Called when everything up to this offset is in the database. The first call passes the offset at which this process
   * resumes.
   */
  checkpointReached(checkpoint: number): void {
    if (checkpoint === this.#checkpoint) return;
    this.#checkpoint = checkpoint;
    this.#probeAnswer = undefined;
    if (this.ledgerEnd !== undefined && checkpoint >= this.ledgerEnd) this.#lag.ledgerEndReached();
    this.source.stored(checkpoint);
    this.#waitingSinceMs = (this.#distance() ?? 0) > 0 ? this.now() : undefined;
  }

  #heldBy(): string | undefined {
    return this.#lockHolder && holderText(this.#lockHolder);
  }

  #distance(): number | undefined {
    if (this.#checkpoint === undefined || this.ledgerEnd === undefined) return undefined;
    return Math.max(0, this.ledgerEnd - this.#checkpoint);
  }

  #lagSeconds(offsetLag: number | undefined): number | null {
    if (offsetLag === 0 && !isLedgerTimedOut(this.#facts(), this.now())) return 0;
    const seconds = this.#lag.seconds(this.now(), this.wallNow());
    return seconds === null ? null : rounded(seconds);
  }
}
