/** Pseudorandom numbers from a seed: the same seed gives the same history and the same faults. */

export class SeededRandom {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
    // Without these rounds, neighboring seeds would begin with similar numbers.
    for (let round = 0; round < 4; round += 1) this.next();
  }

  /** Uniform in [0, 1). */
  next(): number {
    this.#state = (this.#state + 0x9e3779b9) >>> 0;
    let mixedState = this.#state;
    mixedState = Math.imul(mixedState ^ (mixedState >>> 16), 0x21f0aaad);
    mixedState = Math.imul(mixedState ^ (mixedState >>> 15), 0x735a2d97);
    return ((mixedState ^ (mixedState >>> 15)) >>> 0) / 2 ** 32;
  }

  /** A random integer from `low` to `high`, both inclusive. */
  between(low: number, high: number): number {
    return low + Math.floor(this.next() * (high - low + 1));
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(list: readonly T[]): T {
    const picked = list[this.between(0, list.length - 1)];
    if (picked === undefined) throw new Error('nothing to pick from');
    return picked;
  }

  /** A text of `digits` random hexadecimal digits. */
  hex(digits: number): string {
    let text = '';
    while (text.length < digits) text += this.between(0, 0xffff).toString(16).padStart(4, '0');
    return text.slice(0, digits);
  }
}
