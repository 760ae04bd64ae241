/** Steps that end parts of a test setup, in reverse order, even if some of them fail. */

export class Ending {
  readonly #steps: (() => Promise<void>)[] = [];
  #ended: Promise<void> | undefined;

  /** Adds a step that ends a part that was just started. */
  add(step: () => Promise<void>): void {
    this.#steps.push(step);
  }

  /**
   * Waits for all of them, also when one fails: a part that starts afterwards would outlive the end. Then that failure
   * is thrown.
   */
  async together<const T extends readonly unknown[]>(starts: T): Promise<{ -readonly [K in keyof T]: Awaited<T[K]> }> {
    await Promise.allSettled(starts);
    return await Promise.all(starts);
  }

  /** Runs every step, the last one first. Rejects with the first failure when all are done. Can be called again. */
  end(): Promise<void> {
    this.#ended ??= this.#end();
    return this.#ended;
  }

  async #end(): Promise<void> {
    const failures: unknown[] = [];
    for (const step of this.#steps.toReversed()) await step().catch((thrown: unknown) => failures.push(thrown));
    if (failures.length > 0) throw failures[0];
  }
}
