/** Polling intervals of the indexer. */

/** Intervals in milliseconds. They are not options; a caller that runs an indexer in its own process may shorten them. */
export interface Pace {
  /** The ledger end. `INDEXER_LEDGER_TIMEOUT` may require a shorter interval. */
  readonly ledgerEndMs: number;
  /** Rights of the ledger user, after the ledger rejected a request for lack of rights. */
  readonly rightsMs: number;
  /** Changes that commands make in the database: requests of background jobs, and changes that a parked stream waits for. */
  readonly commandsMs: number;
  /** Progress of a background job: stores it, and checks whether the job was paused or cancelled. */
  readonly progressMs: number;
  /** New packages, after commits. */
  readonly packagesMs: number;
  /** The writer lock, on a standby. */
  readonly lockMs: number;
  /** Webhooks, and requests of commands about them. */
  readonly webhooksMs: number;
  /** Commits of another process, for clients of `/changes`. */
  readonly commitsMs: number;
  /** Resets and prunes, for clients of `/changes`, in the process that writes. */
  readonly resetsMs: number;
  /** Tokens of open `/changes` streams. */
  readonly tokensMs: number;
  /** How long a rendering of the metrics is reused for further requests. */
  readonly metricsMs: number;
  /** Sessions of expired tokens, which are ended, and the time at which the next token expires. */
  readonly expiredTokensMs: number;
}

export const usualPace: Pace = {
  ledgerEndMs: 5_000,
  rightsMs: 3_000,
  commandsMs: 2_000,
  progressMs: 1_000,
  packagesMs: 1_000,
  lockMs: 250,
  webhooksMs: 1_000,
  commitsMs: 1_000,
  resetsMs: 5_000,
  // With the read itself, a revoked token ends its streams within five seconds.
  tokensMs: 2_000,
  metricsMs: 1_000,
  expiredTokensMs: 60_000,
};
