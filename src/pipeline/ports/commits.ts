/** The offset up to which everything is stored. The writer reports it once, for all listeners. */

/** May not throw or block. */
type CommitListener = (checkpoint: number) => void;

export class Commits {
  readonly #listeners: CommitListener[] = [];
  #checkpoint: number | undefined;

  /** Calls the listener with each new checkpoint; listeners are called in the order in which they were added. */
  listen(listener: CommitListener): void {
    this.#listeners.push(listener);
  }

  /**
   * Reports that everything up to this offset is in the database: at the beginning of a session, after a seed, after
   * each batch.
   */
  reached(checkpoint: number): void {
    if (checkpoint === this.#checkpoint) return;
    this.#checkpoint = checkpoint;
    for (const listener of this.#listeners) listener(checkpoint);
  }
}
