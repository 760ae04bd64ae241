/** Tells of what is done beside the stream and takes long: metrics, what `/status` says of it, and a line when it changes. */
import { workNames, type Work } from '../../model/stream.ts';
import type { WorkObserver } from '../../pipeline/ports/observer.ts';
import type { HealthTracker } from '../health/health-tracker.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { Logger } from './logger.ts';

interface ReportParts {
  readonly health: HealthTracker;
  readonly metrics: Metrics;
  readonly logger: Logger;
}

export class WorkReport implements WorkObserver {
  readonly #parts: ReportParts;

  constructor(parts: ReportParts) {
    this.#parts = parts;
  }

  seen(works: readonly Work[]): void {
    const { health, metrics } = this.#parts;
    const before = health.jobs.works.note(works);
    for (const name of workNames) {
      const work = works.find((one) => one.name === name);
      const isActive = work?.state === 'asked' || work?.state === 'working';
      metrics.workActive.set({ work: name }, isActive ? 1 : 0);
      metrics.workFailed.set({ work: name }, work?.state === 'failed' ? 1 : 0);
      metrics.workDone.set({ work: name }, work?.done ?? 0);
      metrics.workTotal.set({ work: name }, work?.total ?? Number.NaN);
      if (work !== undefined)
        this.#tell(
          work,
          before.find((one) => one.name === name),
        );
    }
  }

  /** What had come to its end before this process looked first is no news. */
  #tell({ name, state, step, problem }: Work, before: Work | undefined): void {
    const { logger } = this.#parts;
    if (before === undefined && (state === 'done' || state === 'stopped')) return;
    if (before?.state === state && before.step === step && before.problem === problem) return;
    // The stream itself tells that, with offsets and remedies; what an earlier process has left is told here.
    if (name === 'widen' && before !== undefined) return;
    const facts = { work: name, state, step, problem };
    if (state === 'failed') logger.error(facts, 'work beside the stream failed');
    else if (problem !== null && problem !== before?.problem)
      logger.warn(facts, 'work beside the stream has a problem');
    else logger.info(facts, 'work beside the stream');
  }
}
