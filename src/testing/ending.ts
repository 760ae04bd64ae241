/** Steps that end parts of a test setup. They run in reverse order, even if some of them fail. */

export class Ending {
  readonly #steps: (() => Promise<void>)[] = [];
  #ended: Promise<void> | undefined;

  /** Adds a step that ends a part which was just started. */
  add(step: () => Promise<void>): void {
    this.#steps.push(step);
  }

  /**
   * Waits for all starts, even if one fails, because a part that starts later would outlive the end. Then throws the
   * first failure.
   */
  async together<const T extends readonly unknown[]>(starts: T): Promise<{ -readonly [K in keyof T]: Awaited<T[K]> }> {
    await Promise.allSettled(starts);
    return await Promise.all(starts);
  }

  /**
   * Runs all steps, the last one first. Rejects with the first failure when all steps are done. Can be called again.
   */
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
