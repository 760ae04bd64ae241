/** Messages between the measurement and the ledger's process. */

export type LedgerMessage =
  | { readonly kind: 'listening'; readonly url: string }
  /** Sent when all updates are made. */
  | { readonly kind: 'full'; readonly ledgerEnd: number };

/** The offset up to which the indexer has stored everything. */
export interface StoredMessage {
  readonly kind: 'stored';
  readonly offset: number;
}

/** Argument of the ledger's process, as JSON. */
export interface LedgerPlan {
  readonly updates: number;
  readonly startAtMs: number;
}
