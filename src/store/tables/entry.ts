/** What is said of each table of a stream, once: whoever needs a list of tables derives it from these entries. */

/** Beyond reading. Nothing of it means that a stolen password does not give it. */
export interface RoleRights {
  readonly insert?: true;
  /** Columns, as SQL. */
  readonly update?: string;
  readonly delete?: true;
}

/** Conditions of SQL on what names parties, for a reader that is limited to some of them. */
export interface PartyRules {
  /** The parties, as an array. */
  readonly mine: string;
  /** On `contract_parties`: one of them is a stakeholder. */
  readonly stakes: string;
  /** One of them is a witness. */
  readonly witnessed: string;
  /** On `event_parties`: one of them acts, or is a witness. */
  readonly takesPart: string;
  /** The condition on the combination of parties of a row. */
  readonly among: (table: 'contract_parties' | 'event_parties', condition: string) => string;
}

/**
 * Rows of the table that a reader limited to parties sees: all, because it holds nothing of a single party; all, but only these columns
 * (SQL); none; those of a condition. `no policy`: row security hides all rows except from the owner and roles with a policy of their own.
 */
type Limited = 'all' | { readonly columns: string } | 'none' | 'no policy' | ((rules: PartyRules) => string);

/** Groups of `status --sizes`, in the order in which they are shown; all other tables are `other`. */
export const sizeGroups = [
  'updates',
  'contracts',
  'live',
  'ended',
  'exercises',
  'interface_views',
  'parties',
  'reassignments',
  'topology',
  'completions',
  'activity',
] as const;
export type SizeGroup = (typeof sizeGroups)[number];

export interface TableEntry {
  /** Who ingests. */
  readonly writer?: RoleRights;
  /** Who prunes and redacts. */
  readonly redactor?: RoleRights;
  readonly limited: Limited;
  /** With Citus: distributed by "offset", on every node, or on the coordinator. */
  readonly nodes: 'by offset' | 'everywhere' | 'coordinator';
  readonly sizes?: SizeGroup;
  /** An update is written to it. */
  readonly isWritten?: true;
  /** Going back removes its rows by their "offset". */
  readonly goesBack?: true;
  /** `reset --all` leaves its rows: they do not depend on what was read from the ledger. */
  readonly survivesReset?: true;
  /**
   * No ledger could tell its rows: a storage that takes the place of another gets all of them as they are (`wholly`), or the statements
   * of src/store/swap/rows.ts carry what it needs of them, which another server is sent first (`in part`).
   */
  readonly carried?: 'wholly' | 'in part';
}
