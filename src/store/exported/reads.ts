/**
 * Data that a program reads from one snapshot of the database: facts about the stream, descriptions of tables, rows of a range of
 * offsets, and redactions. Types only: `ledger-indexer/read` exports them, and `ledger-indexer-lake` is written against them.
 */

/** Type of a column. `texts` is a list of texts, `decimal` has 38 digits, timestamps are in UTC to the microsecond. */
export type ReadType = 'boolean' | 'int32' | 'int64' | 'double' | 'text' | 'timestamp' | 'date' | 'texts' | 'decimal';

export interface ReadColumn {
  readonly name: string;
  readonly type: ReadType;
  /** Digits after the decimal point, for a decimal only. */
  readonly scale?: number;
}

/** Tables with contents that a redaction can remove; a table of a typed view belongs to one of them. */
export type RedactedRows = 'contracts' | 'exercises' | 'interface_views';

/** Contents that a redaction removes from a row of a table. */
export interface Redactable {
  readonly rows: RedactedRows;
  /** Columns that become null. */
  readonly contents: readonly string[];
  /** The column with the id of the contract; the node of an exercise is in the second column of `order`. */
  readonly contractId: string;
  /** The column that then names the redaction, for tables that have one. */
  readonly redactionId?: string;
}

/** A table as a snapshot describes it. Its rows never change unless a redaction, a late update or a reset changes them. */
export interface ReadTable {
  /** Name of its view in schema `explore`, or `typed.` and the name of its view in schema `typed`. */
  readonly name: string;
  readonly columns: readonly ReadColumn[];
  /** The column that says which range of offsets a row belongs to. */
  readonly offset: string;
  /** Columns that identify a row, the offset first. Rows come in this order. */
  readonly order: readonly string[];
  readonly redacted?: Redactable;
  /** Set if a late update can add or change rows of all offsets from its own on. */
  readonly followsLate?: true;
  /** Set if names in its rows are unknown until their package has been read. */
  readonly namesPackages?: true;
}

/** A range of offsets that the database has in full. */
export interface ReadCoverage {
  readonly from: number;
  /** Null: the range is still growing. */
  readonly to: number | null;
  readonly origin: string;
  /** UTC, to the microsecond. */
  readonly recordedAt: string;
}

/** Facts about the stream, all of the same moment. */
export interface ReadFacts {
  readonly participant: string | null;
  readonly filterHash: string;
  readonly shape: string;
  readonly checkpoint: number;
  /** Updates up to and including this offset were pruned; -1 if none were. */
  readonly prunedToOffset: number;
  readonly coverage: readonly ReadCoverage[];
  /** A fingerprint of the interfaces whose views are stored. */
  readonly interfacesFingerprint: string;
  /** Ids of packages that contracts and exercises name and that have not been read. */
  readonly unreadPackages: readonly string[];
  /** Updates that were stored late, with the epoch that stored them, ordered by offset. */
  readonly lateUpdates: readonly { readonly offset: number; readonly epoch: number }[];
  /** A fingerprint of all redactions. Pruning does not change it. */
  readonly redactionsFingerprint: string;
  /** Offsets of redacted rows, ordered. */
  readonly redacted: Readonly<Record<RedactedRows, readonly number[]>>;
  /** First and last offset at which contracts that have ended had lost all of their parties; undefined if none had. */
  readonly unhostedRange: { readonly from: number; readonly to: number } | undefined;
}

/** Everything that was ever redacted. */
export interface ReadRedactions {
  /** Id of the redaction of a contract; undefined if it was not redacted. */
  ofContract(contractId: string): string | undefined;
  /** Id of the redaction of an exercise, or of its contract together with its exercises. */
  ofExercise(
    update: { readonly offset: number; readonly updateId: string | null },
    exercise: { readonly nodeId: number; readonly contractId: string },
  ): string | undefined;
  /** Offsets of exercises that were redacted individually; both ends are part of the range. */
  offsetsWithin(from: number, to: number): ReadonlySet<number>;
}

/** One REPEATABLE READ READ ONLY transaction. */
export interface Snapshot {
  readonly facts: ReadFacts;
  /** Describes the tables of schema `explore`, and those typed views whose name (`typed.NAME`) is wanted. */
  readonly tables: (isRequested: (name: string) => boolean) => Promise<readonly ReadTable[]>;
  /**
   * Rows of a table in a range of offsets, both ends part of it, as the pieces of a binary COPY. Read it to its end: the
   * connection is busy until then.
   * @param table name of a table that `tables` has described
   * @throws TypeError for any other name; IndexerError STORE_ errors
   */
  readonly rows: (table: string, from: number, to: number) => AsyncIterable<Uint8Array>;
  /**
   * Last offset of the range that begins after `after`: the offset at which a table has `rows` rows of the range, or `until`. It
   * depends only on rows after `after`, so a program that was stopped continues with the same ranges.
   */
  readonly endOfRange: (after: number, until: number, rows: number) => Promise<number>;
  /** Undefined if nothing was ever redacted. All ids are held in memory. */
  readonly redactions: () => Promise<ReadRedactions | undefined>;
  /** Epoch of the newest batch that began before an offset; null if that batch was pruned or belongs to a seed. */
  readonly epochAt: (offset: number) => Promise<number | null>;
}

/** Source of snapshots. */
export interface Reads {
  /**
   * Calls `use` with a snapshot, which ends when `use` has settled. Nothing is written, so a standby will do.
   * @throws IndexerError EXPORT_NOT_READY if nothing was published yet; EXPORT_REFUSED if the role may not see all rows; STORE_ errors; as `use`
   */
  readonly inSnapshot: <T>(use: (snapshot: Snapshot) => Promise<T>) => Promise<T>;
}
