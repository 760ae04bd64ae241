/** Reports the results of polling the ledger and the database. Updates metrics and health, and logs changes. */
import type { IndexerError } from '../../errors/indexer-error.ts';
import type { LockHolder } from '../../model/stream.ts';
import type { PollObserver, ProbeAnswer, VerifiedFacts } from '../../pipeline/ports/observer.ts';
import type { HealthTracker } from '../health/health-tracker.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { Logger } from './logger.ts';

interface ReportParts {
  readonly health: HealthTracker;
  readonly metrics: Metrics;
  readonly logger: Logger;
}

export class PollReport implements PollObserver {
  readonly #parts: ReportParts;
  #participantPrunedOffset: number | undefined;
  #probeAnswer: ProbeAnswer | undefined;

  constructor(parts: ReportParts) {
    this.#parts = parts;
  }

  lockHeld(holder: LockHolder | undefined, isOwnLock: boolean): void {
    const { health, logger } = this.#parts;
    if (!health.lockHeld(holder) || holder === undefined) return;
    if (isOwnLock) logger.info({ holder }, 'this process holds the writer lock');
    else logger.info({ holder }, 'another session holds the writer lock');
  }

  ledgerEnd(offset: number): void {
    const { health, metrics } = this.#parts;
    health.ledgerPolled(offset);
    metrics.ledgerEnd.set(offset);
    metrics.ledgerEndTime.set(health.wallNow() / 1000);
  }

  pruned(offset: number): void {
    this.#parts.metrics.participantPrunedOffset.set(offset);
    this.#participantPrunedOffset = offset;
    this.showHeadroom();
  }

  /** Updates the number of offsets between the checkpoint and the participant's pruned offset, once both are known. */
  showHeadroom(): void {
    const { health, metrics } = this.#parts;
    if (health.checkpoint === undefined || this.#participantPrunedOffset === undefined) return;
    metrics.pruneHeadroom.set(health.checkpoint - this.#participantPrunedOffset);
  }

  idleProbed(probeAnswer: ProbeAnswer, error?: IndexerError): void {
    const { health, metrics, logger } = this.#parts;
    metrics.idleProbes.inc({ result: probeAnswer });
    health.idleProbed(probeAnswer);
    const before = this.#probeAnswer;
    this.#probeAnswer = probeAnswer;
    // This is logged once, because the probe is repeated.
    if (probeAnswer !== 'refused' || probeAnswer === before) return;
    const facts = { checkpoint: health.checkpoint, ledgerEnd: health.ledgerEnd, err: error };
    logger.warn(facts, 'idle probe refused: the ledger does not report whether updates precede its end, trying again');
  }

  verified(results: readonly VerifiedFacts[]): void {
    const { metrics } = this.#parts;
    for (const { kind, atOffset, startedAtMs, seconds, different: differenceCount } of results) {
      metrics.verifyOffset.set({ kind }, atOffset);
      metrics.verifyTime.set({ kind }, startedAtMs / 1000);
      metrics.verifyDuration.set({ kind }, seconds);
      metrics.verifyDifferences.set({ kind }, differenceCount ?? Number.NaN);
    }
  }

  contractsUnhosted(count: number): void {
    const { health, metrics } = this.#parts;
    health.jobs.contractsUnhosted = count;
    metrics.contractsUnhosted.set(count);
  }
}
