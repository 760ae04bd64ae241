/** Reports background jobs. Updates metrics and their part of `/status`, and logs each change. */
import { jobNames, type Job } from '../../model/stream.ts';
import type { JobObserver } from '../../pipeline/ports/observer.ts';
import type { HealthTracker } from '../health/health-tracker.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { Logger } from './logger.ts';

interface ReportParts {
  readonly health: HealthTracker;
  readonly metrics: Metrics;
  readonly logger: Logger;
}

export class JobReport implements JobObserver {
  readonly #parts: ReportParts;

  constructor(parts: ReportParts) {
    this.#parts = parts;
  }

  seen(jobs: readonly Job[]): void {
    const { health, metrics } = this.#parts;
    const before = health.jobs.requested.note(jobs);
    for (const name of jobNames) {
      const job = jobs.find((candidate) => candidate.name === name);
      const isActive = job?.state === 'requested' || job?.state === 'working';
      metrics.jobActive.set({ name }, isActive ? 1 : 0);
      metrics.jobFailed.set({ name }, job?.state === 'failed' ? 1 : 0);
      metrics.jobDone.set({ name }, job?.done ?? 0);
      metrics.jobExpected.set({ name }, job?.total ?? Number.NaN);
      if (job !== undefined)
        this.#tell(
          job,
          before.find((previousJob) => previousJob.name === name),
        );
    }
  }

  /** Logs a job that has changed. If a job had already ended at the first poll of this process, it is not logged. */
  #tell({ name, state, step, problem }: Job, before: Job | undefined): void {
    const { logger } = this.#parts;
    if (before === undefined && (state === 'done' || state === 'paused')) return;
    if (before?.state === state && before.step === step && before.problem === problem) return;
    // The stream logs this job itself, with offsets and remedies. It is logged here only if an earlier process left it
    // unfinished.
    if (name === 'filter-extend' && before !== undefined) return;
    const facts = { job: name, state, step, problem };
    if (state === 'failed') logger.error(facts, 'background job failed');
    else if (problem !== null && problem !== before?.problem) logger.warn(facts, 'background job has a problem');
    else logger.info(facts, 'background job');
  }
}
