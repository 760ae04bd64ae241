/** Options and result of an operation of the chaos suite. */

export interface OperationOptions {
  /** Random seed of the first run. Each following run uses the next number. */
  readonly firstSeed: number;
  /** Number of runs. */
  readonly seeds: number;
  /** Approximate number of contracts on the ledger, or added by the operation. */
  readonly contracts: number;
  /** Time limit of each wait. */
  readonly stepTimeoutMs: number;
  /**
   * Number of contracts that SQL creates in both schemas, to measure the pause of a rebuild. The ledger does not have
   * them.
   */
  readonly madeContracts?: number | undefined;
  /** Called after each run, with the totals so far. */
  readonly progress: (figures: Readonly<Record<string, number>>) => void;
}

/** Counts, and further measurements whose names end with their units. */
export interface OperationFigures {
  readonly runs: number;
  /** Number of SIGKILLs of the operation and of the indexer that ran meanwhile. */
  readonly kills: number;
  readonly lost: number;
  readonly duplicated: number;
  readonly altered: number;
  readonly [figure: string]: number;
}
