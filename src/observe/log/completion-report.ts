/** Reports completions. Updates metrics and their part of `/status`, and logs each change. */
import type { IndexerError } from '../../errors/indexer-error.ts';
import type { CompletionFacts, CompletionObserver } from '../../pipeline/ports/observer.ts';
import type { HealthTracker } from '../health/health-tracker.ts';
import type { Metrics } from '../metrics/metrics.ts';
import { reportUnknownNames } from './unknown-report.ts';
import type { Logger } from './logger.ts';

interface ReportParts {
  readonly health: HealthTracker;
  readonly metrics: Metrics;
  readonly logger: Logger;
}

const completionsOffRemedy =
  'none needed; or grant the user read rights for the parties of the filter (participant 3.5.7 or newer), or set INDEXER_COMPLETIONS=off';

export class CompletionReport implements CompletionObserver {
  readonly #parts: ReportParts;
  /** The state that was last reported. It is not reported again. */
  #said: string | undefined;

  constructor(parts: ReportParts) {
    this.#parts = parts;
  }

  off(reason: string, error?: IndexerError): void {
    const { health, metrics, logger } = this.#parts;
    health.jobs.completionsChanged({ state: 'off', reason });
    metrics.completionsFollowed.set(0);
    if (!this.#isNews(`off ${reason}`)) return;
    const facts = error === undefined ? { reason } : { reason, code: error.code, remedy: completionsOffRemedy };
    logger.info(facts, 'completions are not followed');
  }

  followed(checkpoint: number): void {
    const { health, metrics, logger } = this.#parts;
    health.jobs.completionsChanged({ state: 'following', reason: 'read in the background', checkpoint });
    metrics.completionsFollowed.set(1);
    metrics.completionCheckpoint.set(checkpoint);
    if (this.#isNews('followed')) logger.info({ checkpoint }, 'following completions');
  }

  stored({
    checkpoint,
    accepted: acceptedCount,
    rejected: rejectedCounts,
    unknown: unknownNames,
  }: CompletionFacts): void {
    const { health, metrics, logger } = this.#parts;
    health.jobs.completionsChanged({ state: 'following', reason: 'read in the background', checkpoint });
    metrics.completionCheckpoint.set(checkpoint);
    metrics.completionsStored.inc({ result: 'accepted' }, acceptedCount);
    metrics.rejectionCodes.admit(rejectedCounts);
    for (const [code, count] of rejectedCounts) {
      metrics.completionsStored.inc({ result: 'rejected' }, count);
      metrics.rejectedCommands.inc({ code: metrics.rejectionCodes.label(code) }, count);
    }
    reportUnknownNames({ names: health.jobs.unknown, metrics, logger }, unknownNames);
  }

  skipped(from: number, to: number): void {
    this.#parts.logger.warn(
      {
        from,
        to,
        remedy: 'none: explore.completion_coverage lists the gap; updates at these offsets are not affected',
      },
      'completions were pruned by the participant before they were read',
    );
  }

  failed(error: IndexerError, delayMs: number): void {
    const { health, metrics, logger } = this.#parts;
    metrics.completionsFollowed.set(0);
    if (health.jobs.completions.state === 'off' && this.#said?.startsWith('off') === true) return;
    metrics.completionFailures.inc();
    health.jobs.completionsChanged({ state: 'failing', reason: `${error.code}: ${error.message}` });
    if (!this.#isNews(`failed ${error.code}`)) return;
    const facts = { delayMs, code: error.code, reason: error.message, remedy: error.remedy };
    logger.warn(facts, 'completions cannot be followed, trying again: the stream continues');
  }

  #isNews(text: string): boolean {
    const before = this.#said;
    this.#said = text;
    return text !== before;
  }
}
