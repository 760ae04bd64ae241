/** Reports how long traffic lasts: metrics without a value for what is not known, and a log line for the first failure. */
import type { IndexerError } from '../../errors/indexer-error.ts';
import type { TrafficObserver, TrafficRunway } from '../../pipeline/ports/observer.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { Logger } from './logger.ts';

interface ReportParts {
  readonly metrics: Metrics;
  readonly logger: Logger;
}

export class TrafficReport implements TrafficObserver {
  readonly #parts: ReportParts;
  #failedCode: string | undefined;

  constructor(parts: ReportParts) {
    this.#parts = parts;
  }

  read(runways: readonly TrafficRunway[]): void {
    const { trafficRunway, trafficBought } = this.#parts.metrics;
    this.#failedCode = undefined;
    // A value that is not known any more has no series: 0 or an old value would mislead an alert.
    trafficRunway.reset();
    trafficBought.reset();
    for (const { synchronizer, trafficSeconds, amuletSeconds, lastBoughtAt } of runways) {
      if (trafficSeconds !== undefined) trafficRunway.set({ synchronizer, resource: 'traffic' }, trafficSeconds);
      if (amuletSeconds !== undefined) trafficRunway.set({ synchronizer, resource: 'amulet' }, amuletSeconds);
      if (lastBoughtAt !== undefined) trafficBought.set({ synchronizer }, lastBoughtAt);
    }
  }

  failed({ code, message, remedy }: IndexerError, delayMs: number): void {
    const { logger, metrics } = this.#parts;
    metrics.trafficRunway.reset();
    metrics.trafficBought.reset();
    // Logged once, because each later attempt may fail for the same reason.
    if (code === this.#failedCode) return;
    this.#failedCode = code;
    logger.warn({ delayMs, code, reason: message, remedy }, 'traffic runway could not be read, trying again');
  }
}
