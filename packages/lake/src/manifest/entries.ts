/** The entries of the manifest: tables, ranges and files. */
import type { ReadCoverage, ReadFacts } from 'ledger-indexer/read';
import type { LakeColumn } from '../parquet/lake-column.ts';

/** The file of a table for one range. */
export interface LakeFile {
  readonly table: string;
  /** First and last offset of the range, inclusive. */
  readonly from: number;
  readonly to: number;
  /** Path relative to the folder of the lake; null if the range has no rows. */
  readonly path: string | null;
  readonly rows: number;
  readonly bytes: number;
  /** Hexadecimal; null if there is no file. */
  readonly sha256: string | null;
  readonly fingerprint: FileFingerprint;
}

/** Facts that are compared later to find out whether rows of the range have changed. */
export interface FileFingerprint {
  /** Number of rows whose contents were redacted. */
  readonly redacted?: number;
  /** Epoch of the newest late update in the file. */
  readonly lateEpoch?: number;
  /** Ids of packages that were not read yet when the file was written, so that it lacks their names. */
  readonly unreadPackages?: readonly string[];
  /** Fingerprint of the interfaces whose views existed when the file was written. */
  readonly interfacesFingerprint?: string;
  /** For a projection of a user: its version, and the views that it read. */
  readonly version?: string;
  readonly views?: string;
  /** Number of the newest change of history that affects the range. */
  readonly change?: number;
  /** The last offset whose rows are in the file, if its range ends later. It is before the range if there is no file. */
  readonly storedTo?: number;
}

export interface LakeRange {
  readonly from: number;
  readonly to: number;
  /** Epoch of the batch that wrote the last update of the range; null if unknown. */
  readonly epoch: number | null;
}

export interface LakeTableEntry {
  readonly columns: readonly LakeColumn[];
  /** First offset of the table's first file, if earlier rows had been pruned when the table was added. */
  readonly from?: number;
}

/** Source of a lake, which must match the database. */
export type LakeIdentity = Pick<ReadFacts, 'participant' | 'filterHash' | 'shape'>;

/** The manifest without ranges and files. */
export interface ManifestHead extends LakeIdentity {
  /** Everything up to this offset is in the files; null before the first range is complete. */
  readonly until: number | null;
  readonly coverage: readonly ReadCoverage[];
  /**
   * Fingerprint of the redactions that existed when the manifest was written. None of the redacted contents are in the
   * files.
   */
  readonly redactionsFingerprint?: string;
  /** The part of it that concerns contracts and exercises that were pruned from the database. */
  readonly prunedRedactionsFingerprint?: string;
  readonly tables: Readonly<Record<string, LakeTableEntry>>;
}

/** A file that exists in the lake. A range without rows has none. */
export type NamedFile = LakeFile & { readonly path: string };

/** Files that were added to the manifest, and files that were removed from it. */
export interface FileChange {
  readonly added: readonly NamedFile[];
  readonly gone: readonly NamedFile[];
}

export function isNamed(file: LakeFile): file is NamedFile {
  return file.path !== null;
}
