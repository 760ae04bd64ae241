/**
 * Computes the times of live updates. The rate oscillates, and there are short pauses. The times depend only on the
 * start time and the random seed.
 */
import { Random } from '../wire/random.ts';
import type { SavedRandom } from '../wire/random.ts';

/** Beginning of a period of live traffic. */
export interface PeriodStart {
  /** Number of updates made before the period. */
  readonly after: number;
  /** Microseconds since 1970. */
  readonly at: number;
  readonly perSecond: number;
  /** Whether the rate is constant, without oscillation and pauses. */
  readonly isSteady?: boolean;
}

/** A schedule as stored in a snapshot. */
export interface SavedSchedule {
  readonly period: PeriodStart;
  readonly random: SavedRandom;
  readonly next: number;
}

const second = 1_000_000;
/** Duration of one oscillation, in which the rate deviates from its mean by the following share. */
const wavePeriod = 240 * second;
const waveAmplitude = 0.4;
/**
 * Number of updates between two pauses. The next constants are the shortest and the longest pause in seconds. During a
 * pause, the stream has only checkpoints.
 */
const pauseEvery = 500;
const pause = [2, 6] as const;

export class LiveSchedule {
  readonly #random: Random;
  readonly period: PeriodStart;
  #next: number;

  constructor(seed: number, start: PeriodStart) {
    this.#random = new Random(seed + 5 * start.after + 3);
    this.period = start;
    this.#next = start.at;
    this.advance();
  }

  save(): SavedSchedule {
    return { period: this.period, random: this.#random.save(), next: this.#next };
  }

  /** Restores a saved schedule. */
  static loaded(seed: number, { period, random, next }: SavedSchedule): LiveSchedule {
    const schedule = new LiveSchedule(seed, period);
    schedule.#random.load(random);
    schedule.#next = next;
    return schedule;
  }

  /** Time at which the next update is recorded, microseconds since 1970; Infinity if the rate is 0. */
  get next(): number {
    return this.#next;
  }

  advance(): void {
    const { at, perSecond, isSteady = false } = this.period;
    if (perSecond <= 0) {
      this.#next = Infinity;
      return;
    }
    const amplitude = isSteady ? 0 : waveAmplitude;
    const rate = perSecond * (1 + amplitude * Math.sin((2 * Math.PI * (this.#next - at)) / wavePeriod));
    const gap = (second / rate) * (0.4 + 1.2 * this.#random.float());
    const isPause = !isSteady && this.#random.chance(1 / pauseEvery);
    const pauseMicros = isPause ? this.#random.between(...pause) * second : 0;
    this.#next += Math.max(1, Math.round(gap)) + pauseMicros;
  }
}
