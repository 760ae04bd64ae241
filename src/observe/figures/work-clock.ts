/**
 * Measures how much time the stream spends on each activity: waiting for the source, decoding, or waiting for the
 * database. The stream does at most one of these at any moment, so the shares identify the bottleneck. Pure except for
 * the injected clock.
 */
import type { WorkPart } from '../../pipeline/ports/observer.ts';

export const workParts = ['source', 'decode', 'database'] as const satisfies readonly WorkPart[];

/** Seconds, or shares between 0 and 1, by part. */
export type ByPart = Readonly<Record<WorkPart, number>>;

/** The activity that took most of the last ten seconds. */
export interface WorkReason {
  /** Undefined if no stream was open for most of the time. */
  readonly on: WorkPart | undefined;
  /** Share of the time, from 0 to 1. */
  readonly share: number;
  /** A sentence for display, e.g. `database: 83 % of the last 10 s was spent waiting for commits`. */
  readonly sentence: string;
}

const windowSeconds = 10;

const spent: Readonly<Record<WorkPart, string>> = {
  source: "waiting for the ledger's frames",
  decode: 'decoding frames and building rows',
  database: 'waiting for commits',
};

export class WorkClock {
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
  enter(part: WorkPart | undefined): void {
    this.#settle();
    this.#part = part;
  }

  /** Total seconds since the clock was created, including the current activity. */
  totals(): ByPart {
    this.#settle();
    const { source, decode, database } = this.#totals;
    return { source: source / 1000, decode: decode / 1000, database: database / 1000 };
  }

  /**
   * Shares of the last ten seconds, or of the time since the clock was created, including the current activity. During
   * the remaining time, the stream had no activity.
   */
  shares(): ByPart {
    this.#settle();
    const oldest = Math.floor(this.#sinceMs / 1000) - windowSeconds;
    const elapsedMs = Math.max(1, this.#sinceMs - Math.max(oldest * 1000, this.#startedAtMs));
    const share = (part: WorkPart): number => {
      let ms = 0;
      for (const [second, parts] of this.#seconds) if (second >= oldest) ms += parts[part];
      return ms / elapsedMs;
    };
    return { source: share('source'), decode: share('decode'), database: share('database') };
  }

  /** The bottleneck of the last ten seconds. */
  reason(): WorkReason {
    const shares = this.shares();
    const [on = 'source'] = [...workParts].sort((left, right) => shares[right] - shares[left]);
    const none = 1 - shares.source - shares.decode - shares.database;
    const seconds = Math.max(1, Math.round(Math.min(windowSeconds, (this.#sinceMs - this.#startedAtMs) / 1000)));
    if (none >= shares[on]) {
      const sentence = `none: no stream was open for ${percent(none)} of the last ${seconds} s`;
      return { on: undefined, share: none, sentence };
    }
    const sentence = `${on}: ${percent(shares[on])} of the last ${seconds} s was spent ${spent[on]}`;
    return { on, share: shares[on], sentence };
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
    for (let second = first; second <= current; second += 1) {
      const ms = Math.min(nowMs, (second + 1) * 1000) - Math.max(fromMs, second * 1000);
      this.#bucket(second)[this.#part] += ms;
    }
  }

  #bucket(second: number): Record<WorkPart, number> {
    const known = this.#seconds.get(second);
    if (known !== undefined) return known;
    for (const old of this.#seconds.keys()) {
      if (old >= second - windowSeconds) break;
      this.#seconds.delete(old);
    }
    const bucket = { source: 0, decode: 0, database: 0 };
    this.#seconds.set(second, bucket);
    return bucket;
  }
}

function percent(share: number): string {
  return `${Math.round(100 * share)} %`;
}
