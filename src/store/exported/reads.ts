/**
 * Types for data that another program reads from one snapshot of the database: facts about the stream, descriptions of
 * tables, rows of a range of offsets, and redactions. `ledger-indexer/read` exports these types, and
 * `ledger-indexer-lake` is written against them.
 */

/** Type of a column. `texts` is a list of texts. `decimal` has 38 digits. Timestamps are in UTC, with microseconds. */
export type ReadType = 'boolean' | 'int32' | 'int64' | 'double' | 'text' | 'timestamp' | 'date' | 'texts' | 'decimal';

export interface ReadColumn {
  readonly name: string;
  readonly type: ReadType;
  /** Number of digits after the decimal point; only for a decimal. */
  readonly scale?: number;
}

/** Tables whose rows have contents that a redaction can remove. The table of a typed view belongs to one of them. */
export type RedactedRows = 'contracts' | 'exercises' | 'interface_views';

/** Contents that a redaction removes from a row of a table. */
export interface Redactable {
  readonly rows: RedactedRows;
  /** Columns that become null. */
  readonly contents: readonly string[];
  /** The column with the id of the contract. For exercises, the node is in the second column of `order`. */
  readonly contractId: string;
  /** The column with the id of the redaction, for tables that have one. */
  readonly redactionId?: string;
}

/** A range of offsets; both ends are included. */
export interface ReadRange {
  readonly from: number;
  /** Null if the range has no end. */
  readonly to: number | null;
}

/** State of the stored rows of a projection that a user added. */
export interface ReadProjection {
  /** A fingerprint of the SELECT and of the time since which its rows are stored. */
  readonly version: string;
  /** A fingerprint of the views that the SELECT can read. */
  readonly views: string;
  /** Offsets whose rows are stored, in ascending order. Rows at other offsets must not be used. */
  readonly stored: readonly ReadRange[];
  /** Changes of history other than pruning, with the offsets of the rows that they affect. Later ones have higher numbers. */
  readonly changes: readonly { readonly number: number; readonly ranges: readonly ReadRange[] }[];
  /** Offsets affected by changes that do not have a number yet. Their rows are not stored. */
  readonly noted: readonly ReadRange[];
}

/** A table as a snapshot describes it. Its rows change only by redactions, late updates and resets. */
export interface ReadTable {
  /**
   * Name of the table's view in schema `explore`; or `typed.` and the name of its view in schema `typed`; or `derived.`
   * and the name of a projection that a user added.
   */
  readonly name: string;
  readonly columns: readonly ReadColumn[];
  /** The column that contains the offset of a row. Ranges of rows are selected by this column. */
  readonly offset: string;
  /** Columns that identify a row, the offset first. Rows are ordered by them. */
  readonly order: readonly string[];
  readonly redacted?: Redactable;
  /** Set if a late update can add or change rows at its own offset and at any later offset. */
  readonly followsLate?: true;
  /** Set if a row may lack names until the package that contains them has been read. */
  readonly namesPackages?: true;
  /** Set for a projection that a user added. */
  readonly projection?: ReadProjection;
}

/** A range of offsets that the database has without a gap. */
export interface ReadCoverage {
  readonly from: number;
  /** End of the range; null while the range is still growing. */
  readonly to: number | null;
  readonly origin: string;
  /** Time in UTC, with microseconds. */
  readonly recordedAt: string;
}

/** Facts about the stream, all from the same snapshot. */
export interface ReadFacts {
  readonly participant: string | null;
  readonly filterHash: string;
  readonly shape: string;
  readonly checkpoint: number;
  /** Updates up to and including this offset were pruned; -1 if none was pruned. */
  readonly prunedToOffset: number;
  readonly coverage: readonly ReadCoverage[];
  /** A fingerprint of the interfaces whose views are stored. */
  readonly interfacesFingerprint: string;
  /** Ids of packages of stored contracts and exercises that have not been read yet. */
  readonly unreadPackages: readonly string[];
  /** Updates that were stored late, ordered by offset. Each has the epoch of the writer that stored it. */
  readonly lateUpdates: readonly { readonly offset: number; readonly epoch: number }[];
  /** A fingerprint of all redactions. Pruning does not change it. */
  readonly redactionsFingerprint: string;
  /** A fingerprint of the redactions of contracts and exercises that are not stored, because they were pruned. */
  readonly prunedRedactionsFingerprint: string;
  /** Offsets of redacted rows, in ascending order. */
  readonly redacted: Readonly<Record<RedactedRows, readonly number[]>>;
  /**
   * First and last offset at which contracts that have ended had lost all of their parties; undefined if no such
   * contract exists.
   */
  readonly unhostedRange: { readonly from: number; readonly to: number } | undefined;
}

/** All redactions. */
export interface ReadRedactions {
  /** Id of the redaction of a contract; undefined if it was not redacted. */
  ofContract(contractId: string): string | undefined;
  /** Id of the redaction of an exercise; it may have been redacted individually, or together with its contract. */
  ofExercise(
    update: { readonly offset: number; readonly updateId: string | null },
    exercise: { readonly nodeId: number; readonly contractId: string },
  ): string | undefined;
  /** Offsets of exercises that were redacted individually; both ends are included. */
  offsetsWithin(from: number, to: number): ReadonlySet<number>;
}

/** A snapshot: one REPEATABLE READ READ ONLY transaction. */
export interface Snapshot {
  readonly facts: ReadFacts;
  /**
   * Describes the tables of schema `explore`, and the typed views and projections of users whose names (`typed.NAME`,
   * `derived.NAME`) `isRequested` accepts.
   */
  readonly tables: (isRequested: (name: string) => boolean) => Promise<readonly ReadTable[]>;
  /**
   * Rows of a table in a range of offsets (both ends are included), as the pieces of a binary COPY. Read the pieces to
   * the end, because the connection is busy until then.
   * @param table name of a table that `tables` has described
   * @throws TypeError for any other name; IndexerError STORE_ errors
   */
  readonly rows: (table: string, from: number, to: number) => AsyncIterable<Uint8Array>;
  /**
   * Last offset of the range that begins after `after`. The range ends when a table has `rows` rows in it, or at
   * `until`. The result depends only on rows after `after`, so a restarted program continues with the same ranges.
   */
  readonly endOfRange: (after: number, until: number, rows: number) => Promise<number>;
  /** All redactions; undefined if there are none. All their ids are held in memory. */
  readonly redactions: () => Promise<ReadRedactions | undefined>;
  /** Epoch of the newest batch that began before this offset; null if that batch was pruned or belongs to a seed. */
  readonly epochAt: (offset: number) => Promise<number | null>;
}

/** Provides snapshots. */
export interface Reads {
  /**
   * Calls `use` with a snapshot, which ends when `use` has settled. Nothing is written, so the database may be a
   * standby.
   * @throws IndexerError EXPORT_NOT_READY if nothing was published yet; EXPORT_REFUSED if the role may not read all
   * rows; STORE_ errors; any error of `use`
   */
  readonly inSnapshot: <T>(use: (snapshot: Snapshot) => Promise<T>) => Promise<T>;
}
