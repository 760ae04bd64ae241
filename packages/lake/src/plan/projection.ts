/**
 * Files of projections that users added. Their rows are stored in the background and may be stored again, so a file may
 * end before its range does, and its rows may be outdated although no row of the history was added. Pure.
 */
import type { ReadProjection, ReadRange } from 'ledger-indexer/read';
import type { FileFingerprint, LakeFile, LakeRange } from '../manifest/entries.ts';

type Range = Pick<LakeRange, 'from' | 'to'>;

/** Reason for a file that ends before its range does. */
export const notStoredReason = 'its rows are not stored yet';
/** Reason for a file whose rows an earlier version of the product computed. Files of pruned ranges keep them. */
export const viewsReason = 'the views that it reads have changed';
/** Reason for a file that may have copies of contents of pruned contracts. */
export const copiesReason = 'contents of pruned contracts were redacted, and its rows may have copies of them';

/** The last offset of a range up to which all rows are stored; the offset before the range if there is none. */
export function storedEnd({ stored }: ReadProjection, { from, to }: Range): number {
  const part = stored.find((range) => range.from <= from && from <= (range.to ?? Infinity));
  return part === undefined ? from - 1 : Math.min(to, part.to ?? to);
}

/** The last offset up to which a file has all rows of its range; the offset before the range if it has none. */
export function fileEnd({ to, fingerprint }: LakeFile): number {
  return fingerprint.storedTo ?? to;
}

/** The fingerprint of a file that would be written now. */
export function projectionFingerprint(projection: ReadProjection, range: Range): FileFingerprint {
  const { version, views, changes } = projection;
  const end = storedEnd(projection, range);
  const change = changes.findLast(({ ranges }) => ranges.some((changed) => overlaps(changed, range)))?.number;
  return { version, views, ...(change !== undefined && { change }), ...(end < range.to && { storedTo: end }) };
}

/** Why a file is outdated; undefined if it is up to date. Rows that are not stored now may still be in the file. */
export function projectionReason(file: LakeFile, projection: ReadProjection): string | undefined {
  const { fingerprint } = file;
  const end = fileEnd(file);
  if (end < file.from) return notStoredReason;
  const now = projectionFingerprint(projection, file);
  if (now.version !== fingerprint.version) return 'its SELECT was changed, or its rows are stored again';
  const noted = { from: file.from, to: end };
  if ((now.change ?? 0) > (fingerprint.change ?? 0) || projection.noted.some((range) => overlaps(range, noted)))
    return 'history was changed';
  if (now.views !== fingerprint.views) return viewsReason;
  return end < file.to ? notStoredReason : undefined;
}

function overlaps(range: ReadRange, { from, to }: Range): boolean {
  return range.from <= to && (range.to ?? Infinity) >= from;
}
