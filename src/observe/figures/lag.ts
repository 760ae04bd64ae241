/** How far behind the stream is: how old what is stored is, and how long a catch-up will take. */
import type { Phase } from '../../model/stream.ts';

/**
 * How old the newest of what is stored is, at most: the age of its record time, or the time since everything was known
 * to be stored, if that is shorter. A record time alone grows old on a quiet ledger, where nothing is missing.
 */
export class Lag {
  /** When the ledger end was learned, monotonic. */
  #polledAtMs: number | undefined;
  /** The newest time at which all that was in the ledger is stored now, monotonic. */
  #currentAtMs: number | undefined;
  /** Newest record time stored, milliseconds since 1970. */
  #recordTimeMs: number | undefined;

  /** Times rise on each synchronizer only: what comes later may have been recorded earlier. */
  recorded(recordTimeMs: number): void {
    this.#recordTimeMs = Math.max(recordTimeMs, this.#recordTimeMs ?? recordTimeMs);
  }

  /** @param isStored whether the checkpoint is there already */
  ledgerEndLearned(nowMs: number, isStored: boolean): void {
    this.#polledAtMs = nowMs;
    if (isStored) this.#currentAtMs = nowMs;
  }

  /** The checkpoint is where the ledger end was when it was learned. */
  ledgerEndReached(): void {
    this.#currentAtMs = this.#polledAtMs;
  }

  /** Null when nothing is known yet. */
  seconds(nowMs: number, wallNowMs: number): number | null {
    const ages = [
      ...(this.#recordTimeMs === undefined ? [] : [wallNowMs - this.#recordTimeMs]),
      ...(this.#currentAtMs === undefined ? [] : [nowMs - this.#currentAtMs]),
    ];
    return ages.length === 0 ? null : Math.max(0, Math.min(...ages)) / 1000;
  }
}

// How far a catch-up has come and how long it will take, from samples of the last half minute. A remaining time is named
// only when three samples or more show that the distance shrinks.

/** Where the stream stood at one time. */
export interface CatchUpSample {
  /** Monotonic milliseconds. */
  readonly atMs: number;
  readonly checkpoint: number;
  readonly ledgerEnd: number;
}

export interface CatchUpProgress {
  /** The offset at which the catch-up began. */
  readonly from: number;
  /** Of the way from there to the ledger end, 0 to 100. */
  readonly percent: number;
  /** Null with fewer than three samples. */
  readonly offsetsPerSecond: number | null;
  /** Null as well while the distance does not shrink. */
  readonly etaSeconds: number | null;
}

const samplesKept = 30;
/** Fewer show no rate. */
const enoughSamples = 3;
/** About a second, with room for a timer that is early. */
const apartMs = 900;

/** Progress of a catch-up that began at offset `from`, as seen by the samples, oldest first; undefined without any. */
export function catchUpProgress(from: number, samples: readonly CatchUpSample[]): CatchUpProgress | undefined {
  const first = samples[0];
  const last = samples.at(-1);
  if (first === undefined || last === undefined) return undefined;
  const whole = Math.max(1, last.ledgerEnd - from);
  const percent = Math.min(100, Math.max(0, (100 * (last.checkpoint - from)) / whole));
  const elapsed = (last.atMs - first.atMs) / 1000;
  if (samples.length < enoughSamples || elapsed <= 0)
    return { from, percent, offsetsPerSecond: null, etaSeconds: null };
  const rate = (last.checkpoint - first.checkpoint) / elapsed;
  const closing = rate - (last.ledgerEnd - first.ledgerEnd) / elapsed;
  const etaSeconds = closing > 0 ? (last.ledgerEnd - last.checkpoint) / closing : null;
  return { from, percent, offsetsPerSecond: rate, etaSeconds };
}

/** Takes samples while a catch-up lasts, and forgets them when it ends. */
export class CatchUp {
  #from: number | undefined;
  #samples: CatchUpSample[] = [];

  /** Where the stream is now; samples closer together than about a second are not taken. */
  note(phase: Phase, nowMs: number, checkpoint: number | undefined, ledgerEnd: number | undefined): void {
    if (phase !== 'catching_up' || checkpoint === undefined || ledgerEnd === undefined) {
      this.#from = undefined;
      this.#samples = [];
      return;
    }
    this.#from ??= checkpoint;
    const last = this.#samples.at(-1);
    if (last !== undefined && nowMs - last.atMs < apartMs) return;
    this.#samples = [...this.#samples.slice(1 - samplesKept), { atMs: nowMs, checkpoint, ledgerEnd }];
  }

  /** Undefined when nothing is caught up with. */
  progress(): CatchUpProgress | undefined {
    return this.#from === undefined ? undefined : catchUpProgress(this.#from, this.#samples);
  }
}
