/** One sample per second of the last minutes, so that a page opened later shows its plots at once. */
import type { StatusDocument } from '../health/health-tracker.ts';

/** Time in milliseconds since 1970, updates/s, events/s, milliseconds of a commit, seconds of lag. Null: nothing measured. */
export type Sample = readonly [
  at: number,
  updates: number,
  events: number,
  commitMs: number | null,
  lag: number | null,
];

/** Five minutes. */
const kept = 300;

export class LiveHistory {
  #samples: readonly Sample[] = [];

  /** The oldest first. */
  get samples(): readonly Sample[] {
    return this.#samples;
  }

  add(status: StatusDocument, at: number): Sample {
    const { updatesPerSecond, eventsPerSecond, commitMilliseconds } = status;
    const sample: Sample = [at, updatesPerSecond, eventsPerSecond, commitMilliseconds, lagOf(status)];
    this.#samples = [...this.#samples.slice(1 - kept), sample];
    return sample;
  }
}

/** While updates arrive, how late the newest was stored; without any, the age of what is missing. */
export function lagOf({ storedAfterSeconds, lagSeconds }: StatusDocument): number | null {
  return storedAfterSeconds ?? lagSeconds;
}
