/**
 * Reports the stream. Updates metrics and health, and writes one log line for each change of state. It never writes a
 * line for each update, and never logs a payload.
 */
import { sideOf } from '../../errors/catalogue.ts';
import type { IndexerError } from '../../errors/indexer-error.ts';
import { type Phase, phases } from '../../model/stream.ts';
import type { BatchFacts, QueueFacts, StreamObserver, WorkPart } from '../../pipeline/ports/observer.ts';
import { disconnectLabel } from '../figures/disconnect-label.ts';
import { RepeatThrottle } from '../figures/doubling.ts';
import type { WorkTimer } from '../figures/work-clock.ts';
import type { HealthTracker } from '../health/health-tracker.ts';
import { countBatch } from '../metrics/count-batch.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { Logger } from './logger.ts';
import { reportUnknownNames } from './unknown-report.ts';

interface ReportParts {
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly health: HealthTracker;
  /** Measures how much time the stream spends on each activity. */
  readonly work: WorkTimer;
  /** Called when the phase changes. */
  readonly onPhase: () => void;
}

const writingPhases: ReadonlySet<Phase> = new Set(['seeding', 'catching_up', 'live']);

/** The activity whose failure the stream currently waits for. */
function workPartOf(reason: IndexerError | undefined): WorkPart | undefined {
  const errorSide = reason === undefined ? 'pipeline' : sideOf(reason.code);
  return errorSide === 'ledger' ? 'source' : errorSide === 'store' ? 'database' : undefined;
}

export class StreamReport implements StreamObserver {
  readonly #logger: Logger;
  readonly #metrics: Metrics;
  readonly #health: HealthTracker;
  readonly #work: WorkTimer;
  readonly #onPhase: () => void;
  readonly #open = new Set<string>();
  readonly #lines = new RepeatThrottle();
  #phase: Phase | undefined;
  #saidParticipantUnknown = false;

  constructor({ logger, metrics, health, work, onPhase }: ReportParts) {
    this.#logger = logger;
    this.#metrics = metrics;
    this.#health = health;
    this.#work = work;
    this.#onPhase = onPhase;
  }

  get phase(): Phase | undefined {
    return this.#phase;
  }

  storedFound(checkpoint: number): void {
    this.#health.storedFound(checkpoint);
  }

  sessionOpened(participantId: string | undefined, checkpoint: number | null): void {
    this.#metrics.identify(participantId);
    if (participantId !== undefined) this.#health.source.participantId = participantId;
    else this.#sayParticipantUnknown();
    if (checkpoint !== null) {
      // A checkpoint exists only after a seed was published, by this process or by an earlier one.
      this.#metrics.seedDone.set(1);
    }
  }

  /** This is logged once, because it is expected and every session finds it again. */
  #sayParticipantUnknown(): void {
    if (this.#saidParticipantUnknown) return;
    this.#saidParticipantUnknown = true;
    this.#logger.warn(
      {
        remedy: 'none needed; or grant ParticipantAdmin so that another participant at this URL is detected by its id',
      },
      'the participant id cannot be read with the rights of this user: only the last stored update identifies the history',
    );
  }

  phaseChanged(phase: Phase, reason?: IndexerError): void {
    this.#health.phaseChanged(phase, reason);
    if (!writingPhases.has(phase)) this.#work.enter(phase === 'backing_off' ? workPartOf(reason) : undefined);
    for (const phaseName of phases) this.#metrics.phase.set({ phase: phaseName }, phaseName === phase ? 1 : 0);
    this.#metrics.leader.set(writingPhases.has(phase) ? 1 : 0);
    if (phase === this.#phase) return;
    if (writingPhases.has(phase)) this.#lines.clear();
    const from = this.#phase;
    this.#phase = phase;
    this.#onPhase();
    const facts = { phase, from, checkpoint: this.#health.checkpoint, ledgerEnd: this.#health.ledgerEnd };
    if (phase === 'parked') this.#logger.error({ ...facts, err: reason }, 'parked: an operator is needed');
    // At the start, no connection was interrupted, so the log line of the failure is sufficient.
    else if (phase === 'backing_off' && from === 'starting') return;
    else if (phase === 'backing_off') this.#logger.warn({ ...facts, code: reason?.code }, 'backing off');
    else this.#logger.info(facts, phase.replace('_', ' '));
  }

  tokenTaken(expiresAt: number | undefined, renewal: boolean): void {
    this.#metrics.accessTokenExpiry.set(expiresAt ?? Number.NaN);
    if (renewal) this.#metrics.accessTokenRenewals.inc();
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
    this.#health.source.frameReceived();
    this.#metrics.bytesReceived.inc(bytes);
    this.#metrics.lastFrame.set(this.#health.wallNow() / 1000);
  }

  queueChanged(queue: QueueFacts): void {
    this.#metrics.bufferUsed.set({ unit: 'updates' }, queue.updates);
    this.#metrics.bufferCapacity.set({ unit: 'updates' }, queue.updatesCapacity);
    this.#metrics.bufferUsed.set({ unit: 'bytes' }, queue.bytes);
    this.#metrics.bufferCapacity.set({ unit: 'bytes' }, queue.bytesCapacity);
  }

  busyWith(workPart: WorkPart): void {
    this.#work.enter(workPart);
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
      // During a catch-up, the age of an update does not measure the speed of this program.
      if (this.#phase === 'live') metrics.latency.observe(Math.max(0, wallMs - batch.recordTimeMs) / 1000);
    }
    countBatch(metrics, batch);
    reportUnknownNames({ names: this.#health.jobs.unknown, metrics, logger: this.#logger }, batch.unknown);
  }

  quarantined(offset: number, error: IndexerError): void {
    this.#metrics.quarantined.inc();
    this.#logger.error({ offset, err: error }, 'update quarantined');
  }

  lateStored(offset: number): void {
    this.#metrics.outOfOrderUpdates.inc();
    this.#logger.warn({ offset }, 'update stored out of order');
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
    const suppressedCount = this.#lines.due(`${stage} ${error.code}`, this.#health.now());
    if (suppressedCount === undefined) return;
    this.#logger.warn(
      suppressedCount === 0 ? facts : { ...facts, suppressed: suppressedCount },
      `${stage} failed, trying again`,
    );
  }
}
