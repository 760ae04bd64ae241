/** The entries of the manifest: tables, ranges, files. */
import type { ReadCoverage, ReadFacts } from 'ledger-indexer/read';
import type { LakeColumn } from '../parquet/lake-column.ts';

/** A table within a range. */
export interface LakeFile {
  readonly table: string;
  /** First and last offset of the range, both part of it. */
  readonly from: number;
  readonly to: number;
  /** From the folder of the lake; null where the range has no rows. */
  readonly path: string | null;
  readonly rows: number;
  readonly bytes: number;
  /** In hexadecimal digits; null without a file. */
  readonly sha256: string | null;
  readonly fingerprint: FileFingerprint;
}

/** By what it is known later whether rows of the range have changed. */
export interface FileFingerprint {
  /** Rows in it whose contents were redacted. */
  readonly redacted?: number;
  /** Epoch of the newest update that came late and that it holds. */
  readonly lateEpoch?: number;
  /** Packages that nobody had read when it was written: their names are not in it. */
  readonly unreadPackages?: readonly string[];
  /** Which views of interfaces there were. */
  readonly interfacesFingerprint?: string;
}

export interface LakeRange {
  readonly from: number;
  readonly to: number;
  /** Epoch of the batch that wrote its last update; null where none is known. */
  readonly epoch: number | null;
}

export interface LakeTableEntry {
  readonly columns: readonly LakeColumn[];
  /** The first offset of its first file, where what came before was pruned when it was first asked for. */
  readonly from?: number;
}

/** What a lake must be of. */
export type LakeIdentity = Pick<ReadFacts, 'participant' | 'filterHash' | 'shape'>;

/** Everything but ranges and files. */
export interface ManifestHead extends LakeIdentity {
  /** Everything up to this offset is in the files; null before the first range. */
  readonly until: number | null;
  readonly coverage: readonly ReadCoverage[];
  /** Which redactions there were when it was written: none of their contents are in the files. */
  readonly redactionsFingerprint?: string;
  readonly tables: Readonly<Record<string, LakeTableEntry>>;
}

/** A file of the lake; a range without rows has none. */
export type NamedFile = LakeFile & { readonly path: string };

/** Files that the manifest names now and did not before, and the other way round. */
export interface FileChange {
  readonly added: readonly NamedFile[];
  readonly gone: readonly NamedFile[];
}

export function isNamed(file: LakeFile): file is NamedFile {
  return file.path !== null;
}
