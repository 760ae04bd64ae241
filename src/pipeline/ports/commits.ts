/** Reports to all listeners the offset up to which everything is stored. */

/** May not throw or block. */
type CommitListener = (checkpoint: number) => void;

export class Commits {
  readonly #listeners: CommitListener[] = [];
  #checkpoint: number | undefined;

  /**
   * Adds a listener that is called with each new checkpoint. Listeners are called in the order in which they were
   * added.
   */
  listen(listener: CommitListener): void {
    this.#listeners.push(listener);
  }

  /**
   * Reports that everything up to this offset is in the database. Called at the beginning of a session, after a seed
   * and after each batch.
   */
  reached(checkpoint: number): void {
    if (checkpoint === this.#checkpoint) return;
    this.#checkpoint = checkpoint;
    for (const listener of this.#listeners) listener(checkpoint);
  }
}
