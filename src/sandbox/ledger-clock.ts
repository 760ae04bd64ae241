/**
 * The time of the ledger: ledger time, which strictly grows unless a caller sets it, and record times, which strictly
 * grow per synchronizer only. All in microseconds since 1970; texts are API timestamps.
 */
import type { Random } from './random.ts';
import { formatTimestamp } from './values.ts';

export class LedgerClock {
  readonly #now: () => number;
  readonly #recorded = new Map<string, number>();
  readonly #lag = new Map<string, number>();
  #last = 0;

  /** @param now milliseconds since 1970 */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Ledger time: the given one, else the system's, later than every one before. */
  next(at?: number): number {
    this.#last = at ?? Math.max(this.#now() * 1000, this.#last + 1);
    return this.#last;
  }

  /** A record time 0.2 to 1.5 s after `at`, less the lag of the synchronizer. */
  recordTime(synchronizerId: string, at: number, random: Random): string {
    const earliest = (this.#recorded.get(synchronizerId) ?? 0) + 1;
    const lag = this.#lag.get(synchronizerId) ?? 0;
    const micros = Math.max(at + random.between(200_000, 1_500_000) - lag, earliest);
    this.#recorded.set(synchronizerId, micros);
    return formatTimestamp(micros);
  }

  /** From now on the clock of this synchronizer runs that many microseconds behind. */
  lag(synchronizerId: string, micros: number): void {
    this.#lag.set(synchronizerId, micros);
  }

  /** Starts anew, as the clock of an empty ledger. */
  reset(): void {
    this.#last = 0;
    this.#recorded.clear();
  }
}
