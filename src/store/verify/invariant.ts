/** A rule about the tables, with a query for rows that break it. */
export interface Invariant {
  /** Number of the rule in docs/reference/invariants.md. */
  readonly id: string;
  /** Short text of the rule. */
  readonly says: string;
  /** Query for rows that break the rule, with columns `"offset"` (bigint), `contract_id` (text) and `found` (text). */
  readonly sql: string;
}
