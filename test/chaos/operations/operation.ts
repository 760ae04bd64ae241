/** What an operation of the campaign is told and what it found. */

export interface OperationOptions {
  /** Random seed of the first run; the next one has the next number. */
  readonly firstSeed: number;
  /** Runs. */
  readonly seeds: number;
  /** On the ledger, or added by what is done, about. */
  readonly contracts: number;
  /** For each wait. */
  readonly patienceMs: number;
  /** Contracts made by SQL in both storages, for the pause of a rebuild alone: no ledger needs to have them. */
  readonly madeContracts?: number | undefined;
  /** Told after each run what was found up to then. */
  readonly progress: (figures: Readonly<Record<string, number>>) => void;
}

/** Counts, and figures of its own, whose names end with their units. */
export interface OperationFigures {
  readonly runs: number;
  /** SIGKILLs of who did it, or followed the ledger meanwhile. */
  readonly kills: number;
  readonly lost: number;
  readonly duplicated: number;
  readonly altered: number;
  readonly [figure: string]: number;
}
