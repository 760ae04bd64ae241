/** When live updates are recorded: a rate that breathes, with short pauses. A function of its beginning and of chance. */
import { Random } from '../wire/random.ts';
import type { SavedRandom } from '../wire/random.ts';

/** Where a stretch of live traffic begins. */
export interface Stretch {
  /** Updates made before it. */
  readonly after: number;
  /** Microseconds since 1970. */
  readonly at: number;
  readonly perSecond: number;
}

/** A schedule as a snapshot holds it. */
export interface SavedSchedule {
  readonly stretch: Stretch;
  readonly random: SavedRandom;
  readonly next: number;
}

const second = 1_000_000;
/** One breath: the rate swings by this share around its mean in this time. */
const breath = 240 * second;
const swing = 0.4;
/** A pause comes once in so many updates and lasts so long, in seconds: the stream then carries checkpoints only. */
const pauseEvery = 500;
const pause = [2, 6] as const;

export class LiveSchedule {
  readonly #random: Random;
  readonly perSecond: number;
  readonly #stretch: Stretch;
  #next: number;

  constructor(seed: number, stretch: Stretch) {
    this.#random = new Random(seed + 5 * stretch.after + 3);
    this.perSecond = stretch.perSecond;
    this.#stretch = stretch;
    this.#next = stretch.at;
    this.advance();
  }

  save(): SavedSchedule {
    return { stretch: this.#stretch, random: this.#random.save(), next: this.#next };
  }

  /** The schedule that was saved. */
  static loaded(seed: number, { stretch, random, next }: SavedSchedule): LiveSchedule {
    const schedule = new LiveSchedule(seed, stretch);
    schedule.#random.load(random);
    schedule.#next = next;
    return schedule;
  }

  /** When the next update is recorded, microseconds since 1970; Infinity at a rate of 0. */
  get next(): number {
    return this.#next;
  }

  advance(): void {
    if (this.perSecond <= 0) {
      this.#next = Infinity;
      return;
    }
    const rate = this.perSecond * (1 + swing * Math.sin((2 * Math.PI * (this.#next - this.#stretch.at)) / breath));
    const gap = (second / rate) * (0.4 + 1.2 * this.#random.float());
    const rest = this.#random.chance(1 / pauseEvery) ? this.#random.between(...pause) * second : 0;
    this.#next += Math.max(1, Math.round(gap)) + rest;
  }
}
