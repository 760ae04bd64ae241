/** Reports an extended filter. Reports outdated options in `/status`, and logs each step. */
import type { FilterExtensionFacts, FilterExtensionObserver } from '../../pipeline/ports/observer.ts';
import type { HealthTracker } from '../health/health-tracker.ts';
import type { Logger } from './logger.ts';

interface ReportParts {
  readonly health: HealthTracker;
  readonly logger: Logger;
}

const messages = {
  set: 'the filter is extended from here: contracts active before are backfilled in the background',
  gathering: 'backfilling active contracts of the extended filter in the background',
  done: 'contracts of the extended filter are complete from here',
  earlier: 'the history of the extended filter is complete from here',
} as const;

export class FilterExtensionReport implements FilterExtensionObserver {
  readonly #parts: ReportParts;

  constructor(parts: ReportParts) {
    this.#parts = parts;
  }

  changed(facts: FilterExtensionFacts): void {
    const { logger } = this.#parts;
    if (facts.kind === 'options') this.#options(facts.behind);
    else if (facts.kind === 'replaced') {
      logger.info(
        { difference: facts.difference },
        'the filter of an earlier start had stored nothing: replaced by the configured one',
      );
    } else if (facts.kind !== 'late') logger.info({ offset: facts.offset }, messages[facts.kind]);
    else {
      const { delayMs, error } = facts;
      const next = delayMs === undefined ? 'stopped until it is requested again' : 'trying again';
      const fields = { delayMs, code: error.code, reason: error.message, remedy: error.remedy };
      logger[delayMs === undefined ? 'error' : 'warn'](fields, `backfill of the extended filter failed, ${next}`);
    }
  }

  /** The options are logged once, and again when they change, because every session finds the same options. */
  #options(outdatedOptions: readonly string[]): void {
    const { health, logger } = this.#parts;
    const isOld = outdatedOptions.join() === health.jobs.outdatedOptions.join();
    health.jobs.outdatedOptions = outdatedOptions;
    if (isOld || outdatedOptions.length === 0) return;
    const remedy = 'set them to the filter in force: see column filter of table stream';
    logger.warn({ options: outdatedOptions, remedy }, 'these options name an earlier filter: it was extended since');
  }
}
