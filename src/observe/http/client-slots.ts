/** Slots that requests hold while they are served, by reader. */

export class ClientSlots {
  readonly #byReader = new Map<string, number>();
  #all = 0;

  /** Number of slots held by all readers together. */
  get all(): number {
    return this.#all;
  }

  of(reader: string): number {
    return this.#byReader.get(reader) ?? 0;
  }

  /** @returns releases the slot; to be called once */
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
