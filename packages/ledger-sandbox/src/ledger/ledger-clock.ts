/**
 * The time of the ledger. Ledger time strictly increases unless a caller sets it. Record times strictly increase only
 * within a synchronizer. All times are microseconds since 1970; texts are API timestamps.
 */
import { formatTimestamp } from '../wire/values.ts';

/** A clock as stored in a snapshot. */
export interface SavedClock {
  readonly recorded: Map<string, number>;
  readonly lag: Map<string, number>;
  readonly last: number;
}

export class LedgerClock {
  readonly #now: () => number;
  #recorded = new Map<string, number>();
  #lag = new Map<string, number>();
  #last = 0;

  /** @param now returns milliseconds since 1970 */
  constructor(now: () => number) {
    this.#now = now;
  }

  save(): SavedClock {
    return { recorded: this.#recorded, lag: this.#lag, last: this.#last };
  }

  load({ recorded, lag, last }: SavedClock): void {
    this.#recorded = recorded;
    this.#lag = lag;
    this.#last = last;
  }

  /** The next ledger time: the given one, otherwise that of the system, but later than every earlier one. */
  next(at?: number): number {
    this.#last = at ?? Math.max(this.#now() * 1000, this.#last + 1);
    return this.#last;
  }

  /** The record time `at` minus the lag of the synchronizer, or a later time if that was reached before. */
  recordTime(synchronizerId: string, at: number): string {
    const earliest = (this.#recorded.get(synchronizerId) ?? 0) + 1;
    const lag = this.#lag.get(synchronizerId) ?? 0;
    const micros = Math.max(at - lag, earliest);
    this.#recorded.set(synchronizerId, micros);
    return formatTimestamp(micros);
  }

  /** From now on, the clock of this synchronizer lags by this many microseconds. */
  lag(synchronizerId: string, micros: number): void {
    this.#lag.set(synchronizerId, micros);
  }

  /** Resets to the clock of an empty ledger. */
  reset(): void {
    this.#last = 0;
    this.#recorded.clear();
  }
}
