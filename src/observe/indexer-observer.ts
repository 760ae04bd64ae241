/**
 * The observer of the pipeline: feeds metrics and health, and writes one log line for each change of state and one
 * status line every ten seconds. Never a line per update, never a payload.
 */
import { sideOf } from '../errors/catalogue.ts';
import type { IndexerError } from '../errors/indexer-error.ts';
import { type LockHolder, type Phase, phases, type WantedInterface, type Work } from '../model/stream.ts';
import type {
  BatchFacts,
  CompletionFacts,
  Observer,
  PackageFacts,
  PruneFacts,
  QueueFacts,
  SeedFacts,
  StretchAnswer,
  VerifiedFacts,
  WorkPart,
} from '../pipeline/ports/observer.ts';
import { disconnectLabel } from './figures/disconnect-label.ts';
import { Doubling } from './figures/doubling.ts';
import type { HealthTracker } from './health/health-tracker.ts';
import type { Logger } from './log/logger.ts';
import { countBatch } from './metrics/count-batch.ts';
import type { Metrics } from './metrics/metrics.ts';
import { CompletionReport } from './log/completion-report.ts';
import { ProgressLine } from './log/progress-line.ts';
import { InterfaceReport } from './log/interface-report.ts';
import { WideningReport } from './log/widening-report.ts';
import { PackageReport } from './log/package-report.ts';
import { ReleaseReport } from './log/release-report.ts';
import { RetentionReport } from './log/retention-report.ts';
import { reportUnknown } from './log/unknown-report.ts';
import { WorkReport } from './log/work-report.ts';
import { WorkClock } from './figures/work-clock.ts';

export interface ObserverParts {
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly health: HealthTracker;
  /** Told where the time goes. */
  readonly work?: WorkClock;
  /** The progress line of a terminal. */
  readonly progress?: ((text: string | undefined) => void) | undefined;
  readonly statusEveryMs?: number;
}

/** An observer that must be closed, or its last progress line stays on the terminal. */
export interface IndexerObserver extends Observer {
  /** Everything up to this offset is in the database. */
  checkpointReached(checkpoint: number): void;
  close(): void;
}

export function createObserver(parts: ObserverParts): IndexerObserver {
  return new LoggingObserver(parts);
}

const writing: ReadonlySet<Phase> = new Set(['seeding', 'catching_up', 'live']);

/** Whose failure it is that the stream waits for now. */
function failedPart(because: IndexerError | undefined): WorkPart | undefined {
  const side = because === undefined ? 'pipeline' : sideOf(because.code);
  return side === 'ledger' ? 'source' : side === 'store' ? 'database' : undefined;
}

class LoggingObserver implements IndexerObserver {
  readonly #logger: Logger;
  readonly #metrics: Metrics;
  readonly #health: HealthTracker;
  readonly #work: WorkClock;
  readonly #progress: ObserverParts['progress'];
  readonly #progressLine = new ProgressLine();
  readonly #timers: NodeJS.Timeout[] = [];
  readonly #open = new Set<string>();
  readonly #lines = new Doubling();
  readonly #packages: PackageReport;
  readonly #interfaces: InterfaceReport;
  readonly widening: Observer['widening'];
  readonly release: Observer['release'];
  readonly #completions: CompletionReport;
  readonly #retention: RetentionReport;
  readonly #works: WorkReport;
  #phase: Phase | undefined;
  #seeded = 0;
  #prunedOffset: number | undefined;
  #saidParticipantUnknown = false;
  #stretch: StretchAnswer | undefined;

  constructor({ logger, metrics, health, work, progress, statusEveryMs = 10_000 }: ObserverParts) {
    this.#logger = logger;
    this.#metrics = metrics;
    this.#health = health;
    const report = { logger, metrics, health };
    this.#packages = new PackageReport(report);
    this.#interfaces = new InterfaceReport(report);
    this.widening = new WideningReport(report).told;
    this.release = new ReleaseReport(report).told;
    this.#completions = new CompletionReport(report);
    this.#retention = new RetentionReport(report);
    this.#works = new WorkReport(report);
    this.#work = work ?? new WorkClock();
    this.#progress = progress;
    this.#timers.push(setInterval(() => this.#logStatus(), statusEveryMs).unref());
    if (progress !== undefined) {
      this.#timers.push(setInterval(() => progress(this.#progressLine.text(health)), 1000).unref());
    }
  }

  close(): void {
    for (const timer of this.#timers) clearInterval(timer);
    this.#progress?.(undefined);
  }

  checkpointReached(checkpoint: number): void {
    this.#health.checkpointReached(checkpoint);
    this.#metrics.checkpoint.set(checkpoint);
    this.#showHeadroom();
  }

  storedFound(checkpoint: number): void {
    this.#health.storedFound(checkpoint);
  }

  sessionOpened(participantId: string | undefined, checkpoint: number | null): void {
    this.#metrics.identify(participantId);
    if (participantId !== undefined) this.#health.identify(participantId);
    else this.#sayParticipantUnknown();
    if (checkpoint !== null) {
      // A checkpoint exists only once a seed was published, by this process or by an earlier one.
      this.#metrics.seedDone.set(1);
    }
  }

  /** Once: it is lawful, and every session finds it again. */
  #sayParticipantUnknown(): void {
    if (this.#saidParticipantUnknown) return;
    this.#saidParticipantUnknown = true;
    this.#logger.warn(
      { remedy: 'nothing, or grant ParticipantAdmin so that another participant at this URL is noticed by its id' },
      'the participant id cannot be read with the rights of this user: the last stored update alone proves the history',
    );
  }

  phaseChanged(phase: Phase, because?: IndexerError): void {
    this.#health.phaseChanged(phase, because);
    if (!writing.has(phase)) this.#work.enter(phase === 'backing_off' ? failedPart(because) : undefined);
    for (const known of phases) this.#metrics.phase.set({ phase: known }, known === phase ? 1 : 0);
    this.#metrics.leader.set(writing.has(phase) ? 1 : 0);
    if (phase === this.#phase) return;
    if (writing.has(phase)) this.#lines.clear();
    const from = this.#phase;
    this.#phase = phase;
    this.#progress?.(this.#progressLine.text(this.#health));
    const facts = { phase, from, checkpoint: this.#health.checkpoint, ledgerEnd: this.#health.ledgerEnd };
    if (phase === 'parked') this.#logger.error({ ...facts, err: because }, 'parked: an operator is needed');
    // At the start nothing was interrupted: the line of the failure says all there is.
    else if (phase === 'backing_off' && from === 'starting') return;
    else if (phase === 'backing_off') this.#logger.warn({ ...facts, code: because?.code }, 'backing off');
    else this.#logger.info(facts, phase.replace('_', ' '));
  }

  lockHeld(holder: LockHolder | undefined, ours: boolean): void {
    if (!this.#health.lockHeld(holder) || holder === undefined) return;
    if (ours) this.#logger.info({ holder }, 'this process has the right to write');
    else this.#logger.info({ holder }, 'another session has the right to write');
  }

  tokenTaken(expiresAt: number | undefined, renewal: boolean): void {
    this.#metrics.tokenExpiry.set(expiresAt ?? Number.NaN);
    if (renewal) this.#metrics.tokenRenewals.inc();
  }

  connected(stream: 'updates' | 'active_contracts'): void {
    this.#open.add(stream);
    this.#metrics.connectedStreams.set(1);
    this.#metrics.connects.inc({ result: 'connected' });
    this.#logger.info({ stream }, 'connected');
  }

  disconnected(stream: 'updates' | 'active_contracts', code: string): void {
    this.#open.delete(stream);
    this.#metrics.connectedStreams.set(this.#open.size > 0 ? 1 : 0);
    this.#metrics.disconnects.inc({ code: disconnectLabel(code) });
    this.#logger.info({ stream, code }, 'disconnected');
  }

  frameReceived(bytes: number): void {
    this.#health.frameReceived();
    this.#metrics.bytesReceived.inc(bytes);
    this.#metrics.lastFrame.set(this.#health.wallNow() / 1000);
  }

  contractsUnknown(count: number): void {
    this.#health.contractsUnknown(count);
    this.#metrics.contractsUnknown.set(count);
  }

  verified(results: readonly VerifiedFacts[]): void {
    const metrics = this.#metrics;
    for (const { kind, atOffset, startedAtMs, seconds, different } of results) {
      metrics.verifyOffset.set({ kind }, atOffset);
      metrics.verifyTime.set({ kind }, startedAtMs / 1000);
      metrics.verifyDuration.set({ kind }, seconds);
      metrics.verifyDifferences.set({ kind }, different ?? Number.NaN);
    }
  }

  queueChanged(queue: QueueFacts): void {
    this.#metrics.queueDepth.set({ stage: 'inbox_updates' }, queue.updates);
    this.#metrics.queueCapacity.set({ stage: 'inbox_updates' }, queue.updatesCapacity);
    this.#metrics.queueDepth.set({ stage: 'inbox_bytes' }, queue.bytes);
    this.#metrics.queueCapacity.set({ stage: 'inbox_bytes' }, queue.bytesCapacity);
  }

  busyWith(part: WorkPart): void {
    this.#work.enter(part);
  }

  backpressure(seconds: number): void {
    this.#metrics.backpressure.inc(seconds);
  }

  batchCommitted(batch: BatchFacts): void {
    this.#health.batchCommitted(batch);
    const { metrics, wallMs } = { metrics: this.#metrics, wallMs: this.#health.wallNow() };
    metrics.lastCommit.set(wallMs / 1000);
    metrics.commit.observe(batch.commitSeconds);
    metrics.decode.observe(batch.decodeSeconds);
    if (batch.recordTimeMs !== undefined) {
      metrics.lastRecord.set(batch.recordTimeMs / 1000);
      // Catching up, the age of an update says nothing about the speed of this program.
      if (this.#phase === 'live') metrics.latency.observe(Math.max(0, wallMs - batch.recordTimeMs) / 1000);
    }
    countBatch(metrics, batch);
    reportUnknown({ names: this.#health.unknown, metrics, logger: this.#logger }, batch.unknown);
  }

  quarantined(offset: number, error: IndexerError): void {
    this.#metrics.quarantined.inc();
    this.#logger.error({ offset, err: error }, 'update set aside');
  }

  lateStored(offset: number): void {
    this.#metrics.lateUpdates.inc();
    this.#logger.warn({ offset }, 'update stored that came after later ones');
  }

  seedProgress(seed: SeedFacts): void {
    this.#countSeed(seed, false);
  }

  seedDone(seed: SeedFacts): void {
    this.#countSeed(seed, true);
    this.#metrics.seedDone.set(1);
    this.#logger.info({ contracts: seed.contracts, offset: seed.offset }, 'seed done');
  }

  ledgerPolled(ledgerEnd: number): void {
    this.#health.ledgerPolled(ledgerEnd);
    this.#metrics.ledgerEnd.set(ledgerEnd);
    this.#metrics.ledgerEndTime.set(this.#health.wallNow() / 1000);
  }

  prunedPolled(prunedOffset: number): void {
    this.#metrics.pruned.set(prunedOffset);
    this.#prunedOffset = prunedOffset;
    this.#showHeadroom();
  }

  stretchAsked(answer: StretchAnswer, error?: IndexerError): void {
    this.#metrics.stretches.inc({ answer });
    this.#health.stretchAsked(answer);
    const before = this.#stretch;
    this.#stretch = answer;
    // Once: it is asked again and again.
    if (answer !== 'refused' || answer === before) return;
    const facts = { checkpoint: this.#health.checkpoint, ledgerEnd: this.#health.ledgerEnd, err: error };
    this.#logger.warn(facts, 'the ledger does not say whether anything lies before its end: it is asked again');
  }

  packagesRead(facts: PackageFacts): void {
    this.#packages.read(facts);
  }

  packagesFailed(error: IndexerError, delayMs: number): void {
    this.#packages.failed(error, delayMs);
  }

  interfacesWanted(interfaces: readonly WantedInterface[]): void {
    this.#interfaces.wanted(interfaces);
  }

  viewsGathering(interfaces: readonly string[], completeFrom: number): void {
    this.#interfaces.gathering(interfaces, completeFrom);
  }

  viewsAdded(interfaces: readonly string[], views: number): void {
    this.#interfaces.added(interfaces, views);
  }

  viewsFailed(error: IndexerError, delayMs: number): void {
    this.#interfaces.failed(error, delayMs);
  }

  completionsOff(because: string, error?: IndexerError): void {
    this.#completions.off(because, error);
  }

  completionsFollowed(checkpoint: number): void {
    this.#completions.followed(checkpoint);
  }

  completionsStored(facts: CompletionFacts): void {
    this.#completions.stored(facts);
  }

  completionsSkipped(from: number, to: number): void {
    this.#completions.skipped(from, to);
  }

  completionsFailed(error: IndexerError, delayMs: number): void {
    this.#completions.failed(error, delayMs);
  }

  historyPruned(facts: PruneFacts): void {
    this.#retention.pruned(facts);
  }

  pruneFailed(error: IndexerError, delayMs: number): void {
    this.#retention.failed(error, delayMs);
  }

  worksSeen(works: readonly Work[]): void {
    this.#works.seen(works);
  }

  failed(stage: 'ledger' | 'store' | 'pipeline', error: IndexerError, delayMs: number | undefined): void {
    this.#health.failed(error);
    const retryable = error.retry === 'park' || error.retry === 'fatal' ? 'false' : 'true';
    this.#metrics.failures.inc({ stage, retryable });
    this.#metrics.errors.inc({ stage, code: error.code, retryable });
    if (delayMs !== undefined) this.#metrics.retries.inc({ stage });
    if (stage === 'ledger' && this.#open.size === 0) this.#metrics.connects.inc({ result: 'failed' });
    const facts = { stage, delayMs, err: error };
    if (retryable === 'false') return this.#logger.error(facts, `${stage} failed`);
    const untold = this.#lines.due(`${stage} ${error.code}`, this.#health.now());
    if (untold === undefined) return;
    this.#logger.warn(untold === 0 ? facts : { ...facts, untold }, `${stage} failed, trying again`);
  }

  /** Unknown until there is a checkpoint and the ledger was asked. */
  #showHeadroom(): void {
    const { checkpoint } = this.#health;
    if (checkpoint === undefined || this.#prunedOffset === undefined) return;
    this.#metrics.pruneHeadroom.set(checkpoint - this.#prunedOffset);
  }

  #countSeed(seed: SeedFacts, done: boolean): void {
    this.#health.seedProgress(seed, done);
    this.#metrics.seedContracts.inc(seed.contracts >= this.#seeded ? seed.contracts - this.#seeded : seed.contracts);
    this.#seeded = seed.contracts;
    this.#metrics.seedOffset.set(seed.offset);
  }

  #logStatus(): void {
    // On a terminal the progress line says the same.
    if (this.#progress !== undefined && (this.#phase === 'seeding' || this.#phase === 'catching_up')) return;
    const { state, checkpoint, ledgerEnd, offsetDistance, lagSeconds, updatesPerSecond, eventsPerSecond } =
      this.#health.status();
    const facts = { state, checkpoint, ledgerEnd, offsetDistance, lagSeconds, updatesPerSecond, eventsPerSecond };
    if (state === 'stalled' || state === 'blind')
      this.#logger.warn({ ...facts, because: this.#health.verdict().because }, 'status');
    else this.#logger.info(facts, 'status');
  }
}
