/** The entries of the manifest: tables, ranges, files. */
import type { ReadCoverage, ReadFacts } from 'ledger-indexer/read';
import type { LakeColumn } from '../parquet/lake-column.ts';

/** A table within a range. */
export interface LakeFile {
  readonly table: string;
  /** First and last offset of the range, inclusive. */
  readonly from: number;
  readonly to: number;
  /** Relative to the folder of the lake; null if the range has no rows. */
  readonly path: string | null;
  readonly rows: number;
  readonly bytes: number;
  /** Hexadecimal; null without a file. */
  readonly sha256: string | null;
  readonly fingerprint: FileFingerprint;
}

/** Compared later to find out whether rows of the range have changed. */
export interface FileFingerprint {
  /** Number of rows whose contents were redacted. */
  readonly redacted?: number;
  /** Epoch of the newest late update that it contains. */
  readonly lateEpoch?: number;
  /** Packages that could not be read yet when it was written: their names are not in it. */
  readonly unreadPackages?: readonly string[];
  /** Identifies the interface views that existed. */
  readonly interfacesFingerprint?: string;
}

export interface LakeRange {
  readonly from: number;
  readonly to: number;
  /** Epoch of the batch that wrote its last update; null if unknown. */
  readonly epoch: number | null;
}

export interface LakeTableEntry {
  readonly columns: readonly LakeColumn[];
  /** First offset of its first file, if earlier rows had been pruned when the table was added. */
  readonly from?: number;
}

/** Source of a lake; it must match the database. */
export type LakeIdentity = Pick<ReadFacts, 'participant' | 'filterHash' | 'shape'>;

/** The manifest without ranges and files. */
export interface ManifestHead extends LakeIdentity {
  /** Everything up to this offset is in the files; null before the first range. */
  readonly until: number | null;
  readonly coverage: readonly ReadCoverage[];
  /** Identifies the redactions that existed when it was written: none of the redacted contents are in the files. */
  readonly redactionsFingerprint?: string;
  readonly tables: Readonly<Record<string, LakeTableEntry>>;
}

/** A file of the lake; a range without rows has none. */
export type NamedFile = LakeFile & { readonly path: string };

/** Files that were added to the manifest, and files that were removed from it. */
export interface FileChange {
  readonly added: readonly NamedFile[];
  readonly gone: readonly NamedFile[];
}

export function isNamed(file: LakeFile): file is NamedFile {
  return file.path !== null;
}
