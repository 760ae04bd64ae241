/** Counts the slots that requests occupy while they are served, for each reader. */

export class ClientSlots {
  readonly #byReader = new Map<string, number>();
  #all = 0;

  /** Number of occupied slots of all readers. */
  get all(): number {
    return this.#all;
  }

  of(reader: string): number {
    return this.#byReader.get(reader) ?? 0;
  }

  /** Occupies a slot. @returns a function that releases it; call it once */
  take(reader: string): () => void {
    this.#count(reader, 1);
    return () => this.#count(reader, -1);
  }

  #count(reader: string, change: 1 | -1): void {
    this.#all += change;
    const count = this.of(reader) + change;
    if (count === 0) this.#byReader.delete(reader);
    else this.#byReader.set(reader, count);
  }
}
