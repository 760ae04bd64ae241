/** Background jobs of table `jobs`, in the form of `/status`. */
import type { Job } from '../../model/stream.ts';
import { rounded } from '../figures/rates.ts';

export interface RequestedJobStatus extends Pick<
  Job,
  'name' | 'state' | 'step' | 'unit' | 'done' | 'total' | 'problem'
> {
  /** Progress of the current step; null if unknown. */
  readonly percent: number | null;
  readonly perSecond: number | null;
  /** Remaining time of the current step; null if unknown, or if the job is not running. */
  readonly etaSeconds: number | null;
  readonly requestedAt: string;
  readonly updatedAt: string;
}

export class RequestedJobs {
  #jobs: readonly Job[] = [];

  /** Records the jobs. @returns the jobs of the previous call */
  note(jobs: readonly Job[]): readonly Job[] {
    const before = this.#jobs;
    this.#jobs = jobs;
    return before;
  }

  status(): readonly RequestedJobStatus[] {
    return this.#jobs.map(statusOf);
  }
}

function statusOf({
  name,
  state,
  step,
  unit,
  done: doneCount,
  total,
  perSecond,
  problem,
  requestedAt,
  updatedAt,
}: Job): RequestedJobStatus {
  const remainingCount = total === null ? null : Math.max(0, total - doneCount);
  const hasProgress = remainingCount !== null && perSecond !== null && perSecond > 0;
  return {
    name,
    state,
    step,
    unit,
    done: doneCount,
    total,
    percent: total === null || total === 0 ? null : rounded(Math.min(100, (100 * doneCount) / total)),
    perSecond: perSecond === null ? null : rounded(perSecond),
    etaSeconds: hasProgress ? Math.ceil(remainingCount / perSecond) : null,
    problem,
    requestedAt: requestedAt.toISOString(),
    updatedAt: updatedAt.toISOString(),
  };
}
