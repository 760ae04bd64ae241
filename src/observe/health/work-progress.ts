/** What is done beside the stream and takes long, as `/status` shows it. */
import type { Work } from '../../model/stream.ts';
import { rounded } from '../figures/rates.ts';

export interface WorkStatus extends Pick<Work, 'name' | 'state' | 'step' | 'unit' | 'done' | 'total' | 'problem'> {
  /** Of the step; null where nobody can know. */
  readonly percent: number | null;
  readonly perSecond: number | null;
  /** Of the step; null where nobody can know, or it rests. */
  readonly secondsLeft: number | null;
  readonly askedAt: string;
  readonly changedAt: string;
}

export class WorkProgress {
  #works: readonly Work[] = [];

  /** Resolves to what was known before. */
  note(works: readonly Work[]): readonly Work[] {
    const before = this.#works;
    this.#works = works;
    return before;
  }

  status(): readonly WorkStatus[] {
    return this.#works.map(statusOf);
  }
}

function statusOf({ name, state, step, unit, done, total, perSecond, problem, askedAt, changedAt }: Work): WorkStatus {
  const left = total === null ? null : Math.max(0, total - done);
  const moves = left !== null && perSecond !== null && perSecond > 0;
  return {
    name,
    state,
    step,
    unit,
    done,
    total,
    percent: total === null || total === 0 ? null : rounded(Math.min(100, (100 * done) / total)),
    perSecond: perSecond === null ? null : rounded(perSecond),
    secondsLeft: moves ? Math.ceil(left / perSecond) : null,
    problem,
    askedAt: askedAt.toISOString(),
    changedAt: changedAt.toISOString(),
  };
}
