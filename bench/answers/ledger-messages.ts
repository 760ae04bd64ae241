/** Messages between the measurement and the ledger's process. */

export type LedgerMessage =
  /** Sent when the month is made. */
  | { readonly kind: 'listening'; readonly url: string; readonly month: LedgerLength }
  /** Sent when all updates are made. */
  | { readonly kind: 'full'; readonly ledgerEnd: number; readonly made: OffsetTimes };

export interface LedgerLength {
  readonly updates: number;
  readonly ledgerEnd: number;
}

/** Increasing offsets, and the time at which each was reached, nanoseconds of the system-wide monotonic clock. */
export interface OffsetTimes {
  readonly offsets: Float64Array;
  readonly times: BigInt64Array;
}

/** Messages to the ledger's process. */
export type MeasurementMessage =
  /** The offset up to which the indexer has stored everything. */
  | { readonly kind: 'stored'; readonly offset: number }
  /** Begins the traffic of a ledger with a pace. */
  | { readonly kind: 'begin' };

/** Argument of the ledger's process, as JSON. */
export interface LedgerPlan {
  readonly updates: number;
  readonly startAtMs: number;
  /** Updates per second; default: as fast as the indexer stores them. */
  readonly pace?: number | undefined;
}
