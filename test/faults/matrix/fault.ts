/** A row of the fault matrix: a fault, the reaction of the indexer, and the tests for it. */
export interface Fault {
  /** Area and number, such as C01. Ids are never reused. */
  readonly id: string;
  readonly fault: string;
  /**
   * "Retries" means a new session from the checkpoint, after a random delay below a limit that doubles. "Parks" means
   * `/readyz` 503, reason and remedy in the log and in `/status`, the lock released, and a retry every minute. In both
   * cases the tables contain what an undisturbed indexer would have stored up to the checkpoint.
   */
  readonly indexer: string;
  /** Names of tests, or parts of names, by test file. */
  readonly tests?: Readonly<Record<string, readonly string[]>>;
  /** Reason why no test covers the fault. */
  readonly untested?: string;
}
