/** Tells of a filter that was extended: what `/status` says of the options, and a line whenever something comes of it. */
import type { FilterExtensionFacts, FilterExtensionObserver } from '../../pipeline/ports/observer.ts';
import type { HealthTracker } from '../health/health-tracker.ts';
import type { Logger } from './logger.ts';

interface ReportParts {
  readonly health: HealthTracker;
  readonly logger: Logger;
}

const messages = {
  set: 'a wider filter is in force from here on: what was active before is gathered beside the stream',
  gathering: 'gathering active contracts of the wider filter beside the stream',
  done: 'contracts of the wider filter are complete from here on',
  earlier: 'the history of the wider filter is complete from here on',
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
        'the filter of a former start had stored nothing: the configured one takes its place',
      );
    } else if (facts.kind !== 'late') logger.info({ offset: facts.offset }, messages[facts.kind]);
    else {
      const { delayMs, error } = facts;
      const next = delayMs === undefined ? 'until it is asked for again' : 'trying again';
      const told = { delayMs, code: error.code, reason: error.message, remedy: error.remedy };
      logger[delayMs === undefined ? 'error' : 'warn'](told, `what a wider filter shows is late, ${next}`);
    }
  }

  /** Said once for as long as it is the same: every session finds it again. */
  #options(behind: readonly string[]): void {
    const { health, logger } = this.#parts;
    const isOld = behind.join() === health.jobs.outdatedOptions.join();
    health.jobs.outdatedOptions = behind;
    if (isOld || behind.length === 0) return;
    const remedy = 'set them to what is in force: column filter of table stream has it';
    logger.warn({ options: behind, remedy }, 'the filter was extended, and these options name a former one');
  }
}
