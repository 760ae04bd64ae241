/** How often the indexer polls for what nothing notifies it of. */

/** Intervals in milliseconds. Whoever starts an indexer in its own process may shorten them; they are not options. */
export interface Pace {
  /** The ledger end; `INDEXER_LEDGER_TIMEOUT` may ask for a shorter interval. */
  readonly ledgerEndMs: number;
  /** Rights of the ledger user, after the ledger refused them. */
  readonly rightsMs: number;
  /** What commands write to the database: background jobs, and what a parked stream waits for. */
  readonly commandsMs: number;
  /** Progress of a background job: it is noted, and the job learns whether it is still wanted. */
  readonly progressMs: number;
  /** New packages, after commits. */
  readonly packagesMs: number;
  /** The writer lock, on a standby. */
  readonly lockMs: number;
  /** Webhooks and what commands request of them. */
  readonly webhooksMs: number;
  /** Commits of another process, for clients of `/changes`. */
  readonly commitsMs: number;
  /** Resets and prunes, for clients of `/changes`, in the process that writes. */
  readonly resetsMs: number;
  /** Tokens of open `/changes` streams. */
  readonly tokensMs: number;
  /** How long one rendering of the metrics answers whoever asks. */
  readonly metricsMs: number;
  /** Sessions of tokens that expired, which are ended; also when the next token expires. */
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
