/**
 * Measures how much time the stream spends on each activity: waiting for the source, decoding, or waiting for the
 * database. The stream does at most one of these at any moment, so the shares identify the bottleneck. Pure except for
 * the injected clock.
 */
import type { WorkPart } from '../../pipeline/ports/observer.ts';

export const allWorkParts = ['source', 'decode', 'database'] as const satisfies readonly WorkPart[];

/** Seconds, or shares between 0 and 1, by part. */
export type ByWorkPart = Readonly<Record<WorkPart, number>>;

/** The activity that took most of the last ten seconds. */
export interface SlowestPart {
  /** Undefined if no stream was open for most of the time. */
  readonly on: WorkPart | undefined;
  /** Share of the time, from 0 to 1. */
  readonly share: number;
  /** A sentence for display, e.g. `database: 83 % of the last 10 s was spent waiting for commits`. */
  readonly sentence: string;
}

const windowSeconds = 10;

const activityTexts: Readonly<Record<WorkPart, string>> = {
  source: "waiting for the ledger's frames",
  decode: 'decoding frames and building rows',
  database: 'waiting for commits',
};

export class WorkTimer {
  readonly #now: () => number;
  readonly #startedAtMs: number;
  readonly #totals: Record<WorkPart, number> = { source: 0, decode: 0, database: 0 };
  /** Milliseconds by activity, for the current second of the clock and the seconds of the window. */
  readonly #seconds = new Map<number, Record<WorkPart, number>>();
  #part: WorkPart | undefined;
  #sinceMs: number;

  /** @param now monotonic milliseconds; `performance.now` by default */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
    this.#startedAtMs = now();
    this.#sinceMs = this.#startedAtMs;
  }

  /** Switches to this activity. If undefined, the stream currently has no activity. */
  enter(workPart: WorkPart | undefined): void {
    this.#settle();
    this.#part = workPart;
  }

  /** Total seconds since the clock was created, including the current activity. */
  totals(): ByWorkPart {
    this.#settle();
    const { source, decode, database } = this.#totals;
    return { source: source / 1000, decode: decode / 1000, database: database / 1000 };
  }

  /**
   * Shares of the last ten seconds, or of the time since the clock was created, including the current activity. During
   * the remaining time, the stream had no activity.
   */
  shares(): ByWorkPart {
    this.#settle();
    const oldest = Math.floor(this.#sinceMs / 1000) - windowSeconds;
    const elapsedMs = Math.max(1, this.#sinceMs - Math.max(oldest * 1000, this.#startedAtMs));
    const shareOfPart = (workPart: WorkPart): number => {
      let ms = 0;
      for (const [bucketSecond, parts] of this.#seconds) if (bucketSecond >= oldest) ms += parts[workPart];
      return ms / elapsedMs;
    };
    return { source: shareOfPart('source'), decode: shareOfPart('decode'), database: shareOfPart('database') };
  }

  /** The bottleneck of the last ten seconds. */
  reason(): SlowestPart {
    const shares = this.shares();
    const [slowestPart = 'source'] = [...allWorkParts].sort((left, right) => shares[right] - shares[left]);
    const idleShare = 1 - shares.source - shares.decode - shares.database;
    const seconds = Math.max(1, Math.round(Math.min(windowSeconds, (this.#sinceMs - this.#startedAtMs) / 1000)));
    if (idleShare >= shares[slowestPart]) {
      const idleSentence = `none: no stream was open for ${percent(idleShare)} of the last ${seconds} s`;
      return { on: undefined, share: idleShare, sentence: idleSentence };
    }
    const workSentence = `${slowestPart}: ${percent(shares[slowestPart])} of the last ${seconds} s was spent ${activityTexts[slowestPart]}`;
    return { on: slowestPart, share: shares[slowestPart], sentence: workSentence };
  }

  /** Adds the time up to now to the current activity. */
  #settle(): void {
    const nowMs = this.#now();
    const fromMs = this.#sinceMs;
    this.#sinceMs = nowMs;
    if (this.#part === undefined || nowMs <= fromMs) return;
    this.#totals[this.#part] += nowMs - fromMs;
    const current = Math.floor(nowMs / 1000);
    // Time before the window counts only toward the totals.
    const first = Math.max(Math.floor(fromMs / 1000), current - windowSeconds);
    for (let bucketSecond = first; bucketSecond <= current; bucketSecond += 1) {
      const ms = Math.min(nowMs, (bucketSecond + 1) * 1000) - Math.max(fromMs, bucketSecond * 1000);
      this.#bucket(bucketSecond)[this.#part] += ms;
    }
  }

  #bucket(bucketSecond: number): Record<WorkPart, number> {
    const existingBucket = this.#seconds.get(bucketSecond);
    if (existingBucket !== undefined) return existingBucket;
    for (const oldSecond of this.#seconds.keys()) {
      if (oldSecond >= bucketSecond - windowSeconds) break;
      this.#seconds.delete(oldSecond);
    }
    const bucket = { source: 0, decode: 0, database: 0 };
    this.#seconds.set(bucketSecond, bucket);
    return bucket;
  }
}

function percent(ratio: number): string {
  return `${Math.round(100 * ratio)} %`;
}
