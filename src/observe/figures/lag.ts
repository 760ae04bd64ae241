/** Calculates the lag of the stream: the age of the stored data, and the time until a catch-up is complete. */
import type { Phase } from '../../model/stream.ts';

/**
 * Upper bound for the age of the newest stored data. It is the age of the newest record time, or the time since
 * everything was known to be stored, if that is shorter. On a quiet ledger, the newest record time becomes old although
 * nothing is missing.
 */
export class Lag {
  /** Time at which the ledger end was last received, monotonic. */
  #polledAtMs: number | undefined;
  /** Everything that was on the ledger at this time is now stored; monotonic. */
  #currentAtMs: number | undefined;
  /** Newest record time stored, milliseconds since 1970. */
  #recordTimeMs: number | undefined;

  /** Record times increase only within one synchronizer, so a later update may have an earlier record time. */
  recorded(recordTimeMs: number): void {
    this.#recordTimeMs = Math.max(recordTimeMs, this.#recordTimeMs ?? recordTimeMs);
  }

  /** @param isStored whether the checkpoint has already reached the ledger end */
  ledgerEndLearned(nowMs: number, isStored: boolean): void {
    this.#polledAtMs = nowMs;
    if (isStored) this.#currentAtMs = nowMs;
  }

  /** Called when the checkpoint has reached the ledger end that was last received. */
  ledgerEndReached(): void {
    this.#currentAtMs = this.#polledAtMs;
  }

  /** Null if unknown. */
  seconds(nowMs: number, wallNowMs: number): number | null {
    const ages = [
      ...(this.#recordTimeMs === undefined ? [] : [wallNowMs - this.#recordTimeMs]),
      ...(this.#currentAtMs === undefined ? [] : [nowMs - this.#currentAtMs]),
    ];
    return ages.length === 0 ? null : Math.max(0, Math.min(...ages)) / 1000;
  }
}

// Progress and remaining time of a catch-up, from samples of the last half minute. A remaining time is returned only if
// three or more samples indicate that the distance shrinks.

/** Position of the stream at one time. */
export interface CatchUpSample {
  /** Monotonic milliseconds. */
  readonly atMs: number;
  readonly checkpoint: number;
  readonly ledgerEnd: number;
}

export interface CatchUpProgress {
  /** The offset at which the catch-up began. */
  readonly from: number;
  /** Share of the distance from `from` to the ledger end, 0 to 100. */
  readonly percent: number;
  /** Null if there are fewer than three samples. */
  readonly offsetsPerSecond: number | null;
  /** Null if there are fewer than three samples, or the distance does not shrink. */
  readonly etaSeconds: number | null;
}

const maxSamples = 30;
/** Minimum number of samples for a rate. */
const minSamples = 3;
/** Minimum time between two samples: about a second, with tolerance for a timer that fires early. */
const minSampleIntervalMs = 900;

/**
 * Progress of a catch-up that began at offset `from`. Samples are sorted, with the oldest first. Returns undefined if
 * there are no samples.
 */
export function catchUpProgress(from: number, samples: readonly CatchUpSample[]): CatchUpProgress | undefined {
  const first = samples[0];
  const last = samples.at(-1);
  if (first === undefined || last === undefined) return undefined;
  const total = Math.max(1, last.ledgerEnd - from);
  const percent = Math.min(100, Math.max(0, (100 * (last.checkpoint - from)) / total));
  const elapsed = (last.atMs - first.atMs) / 1000;
  if (samples.length < minSamples || elapsed <= 0) return { from, percent, offsetsPerSecond: null, etaSeconds: null };
  const rate = (last.checkpoint - first.checkpoint) / elapsed;
  const closingRate = rate - (last.ledgerEnd - first.ledgerEnd) / elapsed;
  const etaSeconds = closingRate > 0 ? (last.ledgerEnd - last.checkpoint) / closingRate : null;
  return { from, percent, offsetsPerSecond: rate, etaSeconds };
}

/** Takes samples during a catch-up and discards them when it ends. */
export class CatchUp {
  #from: number | undefined;
  #samples: CatchUpSample[] = [];

  /** Records the current position. A sample is ignored if it is taken less than about a second after the last one. */
  note(phase: Phase, nowMs: number, checkpoint: number | undefined, ledgerEnd: number | undefined): void {
    if (phase !== 'catching_up' || checkpoint === undefined || ledgerEnd === undefined) {
      this.#from = undefined;
      this.#samples = [];
      return;
    }
    this.#from ??= checkpoint;
    const last = this.#samples.at(-1);
    if (last !== undefined && nowMs - last.atMs < minSampleIntervalMs) return;
    this.#samples = [...this.#samples.slice(1 - maxSamples), { atMs: nowMs, checkpoint, ledgerEnd }];
  }

  /** Returns undefined unless the stream is catching up. */
  progress(): CatchUpProgress | undefined {
    return this.#from === undefined ? undefined : catchUpProgress(this.#from, this.#samples);
  }
}
