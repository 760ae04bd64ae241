/** Polling intervals of the indexer. */

/**
 * Intervals in milliseconds. They are not options; a caller that runs an indexer in its own process may shorten them.
 */
export interface PollIntervals {
  /** For the ledger end. `INDEXER_LEDGER_TIMEOUT` may require a shorter interval. */
  readonly ledgerEndMs: number;
  /** For the rights of the ledger user, after the ledger rejected a request for lack of rights. */
  readonly rightsMs: number;
  /**
   * For changes that commands make in the database: requests of background jobs, and changes that a parked stream waits
   * for.
   */
  readonly commandsMs: number;
  /** For background jobs: stores the progress, and checks whether the job was paused or cancelled. */
  readonly progressMs: number;
  /** For new packages, after commits. */
  readonly packagesMs: number;
  /** For the writer lock, on a standby. */
  readonly lockMs: number;
  /** For webhooks, and for requests of commands about them. */
  readonly webhooksMs: number;
  /** For commits of another process, for clients of `/changes`. */
  readonly commitsMs: number;
  /** For resets and prunes, for clients of `/changes`, in the process that writes. */
  readonly resetsMs: number;
  /** For tokens of open `/changes` streams. */
  readonly tokensMs: number;
  /** How long rights of a user of the participant are used, at most, until they are requested again. */
  readonly nodeRightsMs: number;
  /** How long rendered metrics are reused for further requests. */
  readonly metricsMs: number;
  /** For expired tokens: ends their sessions, and finds when the next token expires. */
  readonly expiredTokensMs: number;
  /** For metrics of how long traffic lasts. */
  readonly trafficMs: number;
}

export const defaultPace: PollIntervals = {
  ledgerEndMs: 5_000,
  rightsMs: 3_000,
  commandsMs: 2_000,
  progressMs: 1_000,
  packagesMs: 1_000,
  lockMs: 250,
  webhooksMs: 1_000,
  commitsMs: 1_000,
  resetsMs: 5_000,
  // Together with the duration of the read, a revoked token ends its streams within five seconds.
  tokensMs: 2_000,
  nodeRightsMs: 60_000,
  metricsMs: 1_000,
  expiredTokensMs: 60_000,
  trafficMs: 300_000,
};
