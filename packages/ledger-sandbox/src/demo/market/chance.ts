/** Random draws from the distributions of persons and amounts. */
import type { Random } from '../../wire/random.ts';

/** Draws from the standard normal distribution. */
function drawNormal(random: Random): number {
  const radius = Math.sqrt(-2 * Math.log(1 - random.float()));
  return radius * Math.cos(2 * Math.PI * random.float());
}

/** Draws from a log-normal distribution with this median. `spread` is the standard deviation of the logarithm. */
export function logNormal(random: Random, median: number, spread: number): number {
  return median * Math.exp(spread * drawNormal(random));
}

/** An amount in units of 10^-10, log-normal, rounded to cents, at least one cent. */
export function amountOf(random: Random, median: number, spread = 1.1): bigint {
  return BigInt(Math.max(1, Math.round(logNormal(random, median, spread) * 100))) * 100_000_000n;
}

/**
 * Draws how long a person waits, in microseconds.
 * @param medianSeconds half of the waiting times are shorter
 */
export function drawDelayMicros(random: Random, medianSeconds: number): number {
  return Math.round(Math.min(logNormal(random, medianSeconds, 0.7), 12 * medianSeconds) * 1_000_000);
}

/** Draws an index by weight. */
export class Weights {
  readonly #sums: readonly number[];

  constructor(weights: readonly number[]) {
    let sum = 0;
    this.#sums = weights.map((weight) => (sum += weight));
  }

  draw(random: Random): number {
    const threshold = random.float() * (this.#sums.at(-1) ?? 0);
    return Math.max(
      0,
      this.#sums.findIndex((sum) => threshold < sum),
    );
  }
}

/** Zipf's law: the weight of rank r (from 1) is r^-exponent. */
export function zipf(length: number, exponent: number): Weights {
  return new Weights(Array.from({ length }, (_, index) => (index + 1) ** -exponent));
}
