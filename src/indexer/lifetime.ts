/** Opened parts, closed in reverse order: when the indexer is stopped, and when a start fails halfway. */

/** @param leftMs time limit for closing all parts that are still open, together */
type Close<T> = (opened: T, leftMs: number) => Promise<void> | void;

export class Lifetime {
  readonly #closes: ((leftMs: number) => Promise<void> | void)[] = [];

  /** Registers the part, and returns it. */
  own<T>(opened: T, close: Close<T>): T {
    this.#closes.push((leftMs) => close(opened, leftMs));
    return opened;
  }

  /**
   * Each after those that came later. One that fails does not keep others open. @throws the first failure, in the end
   */
  async close(limitMs: number): Promise<void> {
    const until = performance.now() + limitMs;
    const failures: unknown[] = [];
    for (const close of this.#closes.splice(0).toReversed()) {
      try {
        await close(Math.max(0, until - performance.now()));
      } catch (thrown) {
        failures.push(thrown);
      }
    }
    if (failures.length > 0) throw failures[0];
  }
}
