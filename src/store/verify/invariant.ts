/** A rule about the tables, as a query for rows that break it. */
export interface Invariant {
  /** Number in docs/reference/invariants.md. */
  readonly id: string;
  /** The rule in a few words. */
  readonly says: string;
  /**
   * Rows that break it, as columns `"offset"` (bigint), `contract_id` (text) and `found` (text); empty if the rule
   * holds.
   */
  readonly sql: string;
}
