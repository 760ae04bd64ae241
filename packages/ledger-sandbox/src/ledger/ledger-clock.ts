/**
 * The time of the ledger: ledger time, which strictly increases unless a caller sets it, and record times, which
 * strictly increase per synchronizer only. All in microseconds since 1970; texts are API timestamps.
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

  /** @param now milliseconds since 1970 */
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

  /** Ledger time: the given one, otherwise the system's, later than every earlier one. */
  next(at?: number): number {
    this.#last = at ?? Math.max(this.#now() * 1000, this.#last + 1);
    return this.#last;
  }

  /** The record time `at`, less the lag of the synchronizer; later if that time was reached before. */
  recordTime(synchronizerId: string, at: number): string {
    const earliest = (this.#recorded.get(synchronizerId) ?? 0) + 1;
    const lag = this.#lag.get(synchronizerId) ?? 0;
    const micros = Math.max(at - lag, earliest);
    this.#recorded.set(synchronizerId, micros);
    return formatTimestamp(micros);
  }

  /** Sets the clock of this synchronizer back by this many microseconds from now. */
  lag(synchronizerId: string, micros: number): void {
    this.#lag.set(synchronizerId, micros);
  }

  /** Resets to the clock of an empty ledger. */
  reset(): void {
    this.#last = 0;
    this.#recorded.clear();
  }
}
