/**
 * Reports background pruning of old history. Updates metrics and its part of `/status`, and logs holds, results and
 * failures.
 */
import type { IndexerError } from '../../errors/indexer-error.ts';
import type { PruneFacts, RetentionObserver } from '../../pipeline/ports/observer.ts';
import type { HealthTracker } from '../health/health-tracker.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { Logger } from './logger.ts';

interface ReportParts {
  readonly health: HealthTracker;
  readonly metrics: Metrics;
  readonly logger: Logger;
}

export class RetentionReport implements RetentionObserver {
  readonly #parts: ReportParts;

  constructor(parts: ReportParts) {
    this.#parts = parts;
  }

  /** A hold is logged once, and again when it changes. */
  pruned(facts: PruneFacts): void {
    const { health, metrics, logger } = this.#parts;
    const { boundary, rows, finished: isFinished, heldBy: blockingHold } = facts;
    const before = health.jobs.retention.note(facts, health.now(), health.wallNow());
    metrics.prunedRows.inc(rows - before.rows);
    metrics.prunedToOffset.set(boundary);
    metrics.holdAge.set(blockingHold === null ? 0 : (health.wallNow() - blockingHold.since.getTime()) / 1000);
    if (blockingHold !== null && blockingHold.name !== before.heldBy) {
      const { name, offset, isFutureUpdate } = blockingHold;
      const remedy =
        isFutureUpdate === true
          ? { remedy: 'run `ledger-indexer prune --before OFFSET` to prune past this update' }
          : {};
      logger.warn(
        { name, offset, ...remedy },
        'a hold keeps history from being pruned as far as INDEXER_RETENTION requires',
      );
    }
    if (isFinished && rows > 0) logger.info({ boundary, rows }, 'old history pruned');
  }

  failed(error: IndexerError, delayMs: number): void {
    const { health, metrics, logger } = this.#parts;
    health.jobs.retention.failed(error, health.wallNow());
    metrics.pruneFailures.inc();
    const facts = { delayMs, code: error.code, reason: error.message, remedy: error.remedy };
    logger.warn(facts, 'old history could not be pruned, trying again');
  }
}
