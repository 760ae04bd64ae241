/** Reports the projections: metrics, `/status`, and log lines for failures and for the end of the first fill. */
import type { IndexerError } from '../../errors/indexer-error.ts';
import type { ProjectionObserver, ProjectionStep } from '../../pipeline/ports/observer.ts';
import type { HealthTracker } from '../health/health-tracker.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { Logger } from './logger.ts';

interface ReportParts {
  readonly health: HealthTracker;
  readonly metrics: Metrics;
  readonly logger: Logger;
}

export class ProjectionReport implements ProjectionObserver {
  readonly #parts: ReportParts;
  readonly #filled = new Set<string>();
  /** Names in metrics and in `/status`. */
  readonly #reported = new Set<string>();
  /** End of the last stored range of each projection. */
  readonly #ends = new Map<string, number>();

  constructor(parts: ReportParts) {
    this.#parts = parts;
  }

  stepped(step: ProjectionStep): void {
    const { health, metrics, logger } = this.#parts;
    if (step.kind === 'removed' || step.kind === 'repeated') return;
    if (step.kind === 'listed') return this.#forgetOthers(new Set(step.names));
    const labels = { name: step.name };
    if (step.kind === 'failed') {
      const { code, message, remedy } = step.error;
      health.jobs.projections.failed(step.name, step.error);
      metrics.projectionParked.set(labels, 1);
      this.#reported.add(step.name);
      logger.warn({ name: step.name, code, reason: message, remedy }, 'projection parked, its view reads the history');
      return;
    }
    const { range, seconds } = step;
    this.#reported.add(step.name);
    health.jobs.projections.stored(step.name, range.upTo, range.checkpoint);
    metrics.projectionParked.set(labels, 0);
    metrics.projectionSeconds.inc(labels, seconds);
    this.#ends.set(step.name, range.upTo);
    // A projection that waits for another one has no steps, but its lag grows.
    for (const [name, end] of this.#ends) metrics.projectionLag.set({ name }, range.checkpoint - end);
    if (!range.isLast || this.#filled.has(step.name)) return;
    this.#filled.add(step.name);
    logger.info({ name: step.name, offset: range.upTo }, 'projection filled');
  }

  /** Forgets projections that were dropped or replaced, so that nothing reports them as parked. */
  #forgetOthers(names: ReadonlySet<string>): void {
    const { health, metrics } = this.#parts;
    for (const name of [...this.#reported].filter((reported) => !names.has(reported))) {
      this.#reported.delete(name);
      this.#ends.delete(name);
      health.jobs.projections.forget(name);
      metrics.projectionParked.remove({ name });
      metrics.projectionLag.remove({ name });
    }
  }

  failed({ code, message, remedy }: IndexerError, delayMs: number): void {
    this.#parts.logger.warn(
      { delayMs, code, reason: message, remedy },
      'projections could not be filled, trying again',
    );
  }
}
