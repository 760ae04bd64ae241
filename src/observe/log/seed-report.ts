/** Reports a seed. Updates metrics and its part of `/status`, and logs the end of the seed. */
import type { SeedProgressFacts, SeedObserver } from '../../pipeline/ports/observer.ts';
import type { HealthTracker } from '../health/health-tracker.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { Logger } from './logger.ts';

interface ReportParts {
  readonly health: HealthTracker;
  readonly metrics: Metrics;
  readonly logger: Logger;
}

export class SeedReport implements SeedObserver {
  readonly #parts: ReportParts;
  #contracts = 0;

  constructor(parts: ReportParts) {
    this.#parts = parts;
  }

  progress(seed: SeedProgressFacts): void {
    this.#count(seed, false);
  }

  done(seed: SeedProgressFacts): void {
    const { metrics, logger } = this.#parts;
    this.#count(seed, true);
    metrics.seedDone.set(1);
    logger.info({ contracts: seed.contracts, offset: seed.offset }, 'seed done');
  }

  #count({ contracts, offset }: SeedProgressFacts, isDone: boolean): void {
    const { health, metrics } = this.#parts;
    health.throughput.seedProgress({ contracts, offset }, isDone);
    metrics.seedContracts.inc(contracts >= this.#contracts ? contracts - this.#contracts : contracts);
    this.#contracts = contracts;
    metrics.seedOffset.set(offset);
  }
}
