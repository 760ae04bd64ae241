/** One rule that the tables keep, as a query for what breaks it. */
export interface Invariant {
  /** Number in docs/reference/invariants.md. */
  readonly id: string;
  /** The rule in a few words. */
  readonly says: string;
  /** Rows that break it, as columns `"offset"` (bigint), `contract_id` (text) and `found` (text); empty is good. */
  readonly sql: string;
}
