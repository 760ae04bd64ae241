/** Opened parts, which are closed in reverse order when the indexer is stopped, or when a start fails halfway. */

/** @param leftMs remaining time for closing all parts that are still open */
type Close<T> = (resource: T, remainingMs: number) => Promise<void> | void;

export class Lifetime {
  readonly #closes: ((remainingMs: number) => Promise<void> | void)[] = [];

  /** Registers a part to be closed, and returns it. */
  own<T>(resource: T, close: Close<T>): T {
    this.#closes.push((remainingMs) => close(resource, remainingMs));
    return resource;
  }

  /**
   * Closes the parts, each after those that were opened later. If closing one fails, the others are closed
   * nevertheless.
   * @throws the first failure, in the end
   */
  async close(limitMs: number): Promise<void> {
    const deadline = performance.now() + limitMs;
    const failures: unknown[] = [];
    for (const close of this.#closes.splice(0).toReversed()) {
      try {
        await close(Math.max(0, deadline - performance.now()));
      } catch (thrown) {
        failures.push(thrown);
      }
    }
    if (failures.length > 0) throw failures[0];
  }
}
