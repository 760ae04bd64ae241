/** Input and result of an operation of the chaos suite. */

export interface OperationOptions {
  /** Random seed of the first run; the next one has the next number. */
  readonly firstSeed: number;
  /** Runs. */
  readonly seeds: number;
  /** About so many contracts on the ledger, or added by the operation. */
  readonly contracts: number;
  /** Limit of each wait. */
  readonly stepTimeoutMs: number;
  /** Contracts created by SQL in both storages, only for the pause of a rebuild: no ledger needs to have them. */
  readonly madeContracts?: number | undefined;
  /** Called after each run with the results up to then. */
  readonly progress: (figures: Readonly<Record<string, number>>) => void;
}

/** Counts, and own measurements, whose names end with their units. */
export interface OperationFigures {
  readonly runs: number;
  /** SIGKILLs of the operation and of the indexer that ran meanwhile. */
  readonly kills: number;
  readonly lost: number;
  readonly duplicated: number;
  readonly altered: number;
  readonly [figure: string]: number;
}
