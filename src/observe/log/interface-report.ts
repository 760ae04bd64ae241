/** Reports configured interfaces. Updates metrics and their part of `/status`, and logs each change. */
import { isOfPreset } from '../../config/interface-presets.ts';
import type { IndexerError } from '../../errors/indexer-error.ts';
import type { RequestedInterface } from '../../model/stream.ts';
import type { InterfaceObserver } from '../../pipeline/ports/observer.ts';
import type { HealthTracker } from '../health/health-tracker.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { Logger } from './logger.ts';

interface ReportParts {
  readonly health: HealthTracker;
  readonly metrics: Metrics;
  readonly logger: Logger;
}

export class InterfaceReport implements InterfaceObserver {
  readonly #parts: ReportParts;
  #waiting = '';

  constructor(parts: ReportParts) {
    this.#parts = parts;
  }

  /**
   * Waiting interfaces are logged once, and again when they change, because every session finds the same interfaces.
   */
  interfacesRequested(interfaces: readonly RequestedInterface[]): void {
    const { health, metrics, logger } = this.#parts;
    const idsInState = (expectedState: RequestedInterface['state']): readonly string[] =>
      interfaces.filter(({ state }) => state === expectedState).map(({ id }) => id);
    const waitingIds = idsInState('waiting');
    const backfillingIds = idsInState('backfilling');
    health.jobs.interfacesWaiting = waitingIds;
    health.jobs.interfacesBackfilling = backfillingIds;
    metrics.interfacesWaiting.set(waitingIds.length);
    metrics.interfacesBackfilling.set(backfillingIds.length);
    const isOld = waitingIds.join() === this.#waiting;
    this.#waiting = waitingIds.join();
    if (isOld || waitingIds.length === 0) return;
    const message = 'the participant does not know these interfaces yet: their views are added when it does';
    const facts = { waiting: waitingIds, requested: interfaces.length };
    // A preset includes versions of interfaces that do not exist yet. An interface that a user has configured should
    // exist.
    if (waitingIds.every(isOfPreset)) logger.info(facts, message);
    else logger.warn(facts, message);
  }

  gathering(interfaces: readonly string[], completeFrom: number): void {
    this.#parts.logger.info({ interfaces, completeFrom }, 'backfilling interface views in the background');
  }

  added(interfaces: readonly string[], views: number): void {
    const message = 'interface views added to the stream';
    this.#parts.logger.info({ interfaces, views }, message);
  }

  failed(error: IndexerError, delayMs: number): void {
    const { metrics, logger } = this.#parts;
    metrics.interfaceRetries.inc();
    const facts = { delayMs, code: error.code, reason: error.message, remedy: error.remedy };
    logger.warn(facts, 'backfill of interface views failed, trying again');
  }
}
