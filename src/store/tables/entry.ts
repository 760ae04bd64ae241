/** Properties of each table of a stream: every list of tables is derived from these entries. */

/** Rights beyond reading. A stolen password of the role gives no right that is not listed. */
export interface RoleRights {
  readonly insert?: true;
  /** Columns, as SQL. */
  readonly update?: string;
  readonly delete?: true;
}

/** SQL conditions on columns that name parties, for a reader limited to some of them. */
export interface PartyRules {
  /** The parties, as an array. */
  readonly mine: string;
  /** On `contract_parties`: one of them is a stakeholder. */
  readonly stakes: string;
  /** One of them is a witness. */
  readonly witnessed: string;
  /** On `event_parties`: one of them acts, or is a witness. */
  readonly takesPart: string;
  /** The condition on the party set of a row. */
  readonly among: (table: 'contract_parties' | 'event_parties', condition: string) => string;
}

/**
 * Rows of the table visible to a reader limited to parties: all, because it has no data of a single party; all, but
 * only these columns (SQL); none; those of a condition. `no policy`: row security hides all rows except from the owner
 * and roles with a policy of their own.
 */
type Limited = 'all' | { readonly columns: string } | 'none' | 'no policy' | ((rules: PartyRules) => string);

/** Groups of `status --sizes`, in printed order; all other tables are `other`. */
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
  /** Rights of the role that ingests. */
  readonly writer?: RoleRights;
  /** Rights of the role that prunes and redacts. */
  readonly redactor?: RoleRights;
  readonly limited: Limited;
  /** With Citus: distributed by "offset", on every node, or on the coordinator. */
  readonly nodes: 'by offset' | 'everywhere' | 'coordinator';
  readonly sizes?: SizeGroup;
  /** Updates are written to it. */
  readonly isWritten?: true;
  /** Going back deletes its rows by their "offset". */
  readonly goesBack?: true;
  /** `reset --all` keeps its rows: they do not depend on data read from the ledger. */
  readonly survivesReset?: true;
  /**
   * Its rows cannot be read from a ledger: a storage that replaces another gets all of them unchanged (`wholly`), or
   * the statements of src/store/swap/rows.ts copy the necessary ones, after they were sent to the other server (`in
   * part`).
   */
  readonly carried?: 'wholly' | 'in part';
}
