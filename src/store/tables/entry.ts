/** Properties of each table of a stream. Every list of tables is derived from these entries. */

/** Rights beyond reading. The role has no other rights, so a stolen password gives no more rights than these. */
export interface RoleRights {
  readonly insert?: true;
  /** Names of the columns, as SQL. */
  readonly update?: string;
  readonly delete?: true;
}

/** SQL conditions on columns that name parties, for a reader limited to certain parties. */
export interface PartyRules {
  /** SQL: array of the reader's parties. */
  readonly mine: string;
  /** Condition on a row of `contract_parties`: one of the parties is a stakeholder. */
  readonly stakes: string;
  /** Condition: one of the parties is a witness. */
  readonly witnessed: string;
  /** Condition on a row of `event_parties`: one of the parties acts or is a witness. */
  readonly takesPart: string;
  /** SQL: array of the reader's parties and of all parties in party sets that it can see. Computed once per statement. */
  readonly occurring: string;
  /** Builds the condition on a row of another table whose party set fulfills `condition`. */
  readonly among: (table: 'contract_parties' | 'event_parties', condition: string) => string;
}

/**
 * Rows of a table that are visible to a reader limited to parties. `all`: all rows, because the table has no data of a
 * single party. `columns`: all rows, but only these columns (SQL). `none`: no rows. `no policy`: row security hides all
 * rows except from the owner and from roles with a policy of their own. A function: the rows of a condition.
 */
type ReaderLimit = 'all' | { readonly columns: string } | 'none' | 'no policy' | ((rules: PartyRules) => string);

/** Groups in `status --sizes`, in the order of output. All other tables are in group `other`. */
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
  'projections',
] as const;
export type SizeGroup = (typeof sizeGroups)[number];

export interface TableEntry {
  /** Rights of the writer, the role of the indexer. */
  readonly writer?: RoleRights;
  /** Rights of the redactor, the role that prunes and redacts. */
  readonly redactor?: RoleRights;
  readonly limited: ReaderLimit;
  /** On Citus: distributed by "offset", on every node, or on the coordinator. */
  readonly nodes: 'by offset' | 'everywhere' | 'coordinator';
  readonly sizes?: SizeGroup;
  /** Set if updates are written to the table. */
  readonly isWritten?: true;
  /** Set if a reset to an offset deletes rows of the table by their "offset". */
  readonly goesBack?: true;
  /** Set if `reset --all` keeps the rows of the table, because they do not depend on data read from the ledger. */
  readonly survivesReset?: true;
  /**
   * Set if the rows cannot be read from a ledger. A storage that replaces another one gets all of them unchanged
   * (`wholly`), or the necessary ones by statements in src/store/swap/rows.ts (`in part`). For a handover, they are
   * sent to the other server first.
   */
  readonly carried?: 'wholly' | 'in part';
}
