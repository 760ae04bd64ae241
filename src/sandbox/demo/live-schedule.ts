/** When live updates are recorded: a rate that breathes, with short pauses. A function of its beginning and of chance. */
import { Random } from '../random.ts';

/** Where a stretch of live traffic begins. */
export interface Stretch {
  /** Updates made before it. */
  readonly after: number;
  /** Microseconds since 1970. */
  readonly at: number;
  readonly perSecond: number;
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
  readonly #begin: number;
  #next: number;

  constructor(seed: number, { after, at, perSecond }: Stretch) {
    this.#random = new Random(seed + 5 * after + 3);
    this.perSecond = perSecond;
    this.#begin = at;
    this.#next = at;
    this.advance();
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
    const rate = this.perSecond * (1 + swing * Math.sin((2 * Math.PI * (this.#next - this.#begin)) / breath));
    const gap = (second / rate) * (0.4 + 1.2 * this.#random.float());
    const rest = this.#random.chance(1 / pauseEvery) ? this.#random.between(...pause) * second : 0;
    this.#next += Math.max(1, Math.round(gap)) + rest;
  }
}
