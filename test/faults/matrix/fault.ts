/** A row of the fault matrix: a fault, the reaction of the indexer, and the tests of it. */
export interface Fault {
  /** Area and number, such as C01; never reused. */
  readonly id: string;
  readonly fault: string;
  /**
   * "Retries" is a new session from the checkpoint after a random delay below a doubling ceiling. "Parks" is `/readyz`
   * 503, reason and remedy in the log and in `/status`, the lock released, and a retry once a minute. Either way the
   * tables keep what an undisturbed indexer would have stored up to the checkpoint.
   */
  readonly indexer: string;
  /** Test files, each with names of its tests or parts of them. */
  readonly tests?: Readonly<Record<string, readonly string[]>>;
  /** Why no test covers it. */
  readonly untested?: string;
}
