/** Decides which files must be rewritten. Pure. */
import type { ReadFacts, ReadTable } from 'ledger-indexer/read';
import { refusedBy } from '../errors/lake-error.ts';
import type { FileFingerprint, LakeFile, LakeRange } from '../manifest/entries.ts';
import type { Manifest } from '../manifest/manifest.ts';
import {
  copiesReason,
  fileEnd,
  notStoredReason,
  projectionFingerprint,
  projectionReason,
  viewsReason,
} from './projection.ts';

/** The fingerprint of a file that would be written now. */
export function fingerprintOf(
  source: ReadTable,
  { from, to }: Pick<LakeRange, 'from' | 'to'>,
  facts: ReadFacts,
): FileFingerprint {
  if (source.projection !== undefined) return projectionFingerprint(source.projection, { from, to });
  const redactedEpoch = source.redacted === undefined ? 0 : countWithin(facts.redacted[source.redacted.rows], from, to);
  const lateUpdates = facts.lateUpdates.filter(
    ({ offset }) => offset <= to && (source.followsLate === true || offset >= from),
  );
  const epoch = Math.max(0, ...lateUpdates.map((update) => update.epoch));
  return {
    ...(redactedEpoch > 0 && { redacted: redactedEpoch }),
    ...(epoch > 0 && { lateEpoch: epoch }),
    ...(source.namesPackages === true && facts.unreadPackages.length > 0 && { unreadPackages: facts.unreadPackages }),
    ...(source.name === 'interface_views' && { interfacesFingerprint: facts.interfacesFingerprint }),
  };
}

/** This reason depends only on the file. It therefore also applies if the rows of the file have been pruned. */
export const wasRedacted = 'contents were redacted';

/** Why a file is outdated. Undefined if it is up to date. Lower fingerprints after pruning do not make it outdated. */
export function staleReasonOf(file: LakeFile, source: ReadTable, facts: ReadFacts): string | undefined {
  if (source.projection !== undefined) return projectionReason(file, source.projection);
  const now = fingerprintOf(source, file, facts);
  if ((now.redacted ?? 0) > (file.fingerprint.redacted ?? 0)) return wasRedacted;
  if ((now.lateEpoch ?? 0) > (file.fingerprint.lateEpoch ?? 0)) return 'updates arrived late';
  if (file.fingerprint.unreadPackages?.some((id) => !facts.unreadPackages.includes(id)) === true)
    return 'packages were read';
  if (now.interfacesFingerprint !== undefined && now.interfacesFingerprint !== file.fingerprint.interfacesFingerprint)
    return 'interface views were backfilled';
  return undefined;
}

/**
 * Why the file of a table in a range must be rewritten, or that it is missing. Undefined if it is up to date, or if the
 * table begins later.
 */
export function reviewOf(
  manifest: Manifest,
  sources: readonly ReadTable[],
  facts: ReadFacts,
): (range: Pick<LakeRange, 'from' | 'to'>, source: ReadTable) => string | undefined {
  const isOther = isOtherHistory(manifest, facts);
  const reshaped = new Set(sources.filter((source) => isReshaped(manifest, source)).map(({ name }) => name));
  const firstRows = firstRowsOf(manifest, sources);
  const mayHaveCopies = mayHaveCopiesOf(manifest, facts);
  const reasonOf = ({ from, to }: Pick<LakeRange, 'from' | 'to'>, source: ReadTable): string | undefined => {
    const file = manifest.file(source.name, from);
    if (file === undefined) return to < (manifest.head.tables[source.name]?.from ?? 0) ? undefined : missingReason;
    if (source.projection !== undefined && fileEnd(file) < from) return notStoredReason;
    if (isOther) return 'the database has a different history';
    if (reshaped.has(source.name)) return 'its columns have changed';
    return (
      staleReasonOf(file, source, facts) ??
      (mayHaveCopies && source.projection !== undefined ? copiesReason : undefined)
    );
  };
  return (range, source) => {
    const reason = reasonOf(range, source);
    if (source.projection === undefined || range.from > facts.prunedToOffset) return reason;
    // Rows of pruned history cannot be stored again. A projection without earlier rows begins later.
    const isBefore = range.from < (firstRows.get(source.name) ?? Infinity);
    return reason === viewsReason || (isBefore && (reason === notStoredReason || reason === missingReason))
      ? undefined
      : reason;
  };
}

/** First offset with rows of each projection. */
function firstRowsOf(manifest: Manifest, sources: readonly ReadTable[]): ReadonlyMap<string, number> {
  const first = new Map<string, number>();
  const names = new Set(sources.filter(({ projection }) => projection !== undefined).map(({ name }) => name));
  if (names.size === 0) return first;
  for (const file of manifest.files()) {
    if (!names.has(file.table) || fileEnd(file) < file.from) continue;
    first.set(file.table, Math.min(file.from, first.get(file.table) ?? Infinity));
  }
  return first;
}

/** Whether contracts were redacted that are not stored, so that it is unknown which rows of projections copied them. */
function mayHaveCopiesOf({ head }: Manifest, facts: ReadFacts): boolean {
  return (
    head.prunedRedactionsFingerprint !== undefined &&
    head.prunedRedactionsFingerprint !== facts.prunedRedactionsFingerprint &&
    head.redactionsFingerprint !== facts.redactionsFingerprint
  );
}

/** Reason for a table without a file in a range. */
export const missingReason = 'it is missing';

/** True if the columns of a table have changed since its files were written. */
export function isReshaped(manifest: Manifest, { name, columns }: ReadTable): boolean {
  const tableEntry = manifest.head.tables[name];
  return tableEntry !== undefined && JSON.stringify(tableEntry.columns) !== JSON.stringify(columns);
}

/**
 * Whether the database has a range of history that the lake does not know, because active contracts were read again or
 * history was added.
 */
export function isOtherHistory(manifest: Manifest, facts: ReadFacts): boolean {
  if (manifest.rangeCount === 0) return false;
  const coverageKeys = new Set(manifest.head.coverage.map(keyOf));
  return facts.coverage.some((range) => !coverageKeys.has(keyOf(range)));
}

function keyOf({ from, origin, recordedAt }: ReadFacts['coverage'][number]): string {
  return `${String(from)} ${origin} ${recordedAt}`;
}

/**
 * @throws LakeError EXPORT_REFUSED if rows of the range may have been pruned, so that its file has them but the
 *   database does not
 */
export function refusePruned(
  file: Pick<LakeFile, 'from' | 'to'>,
  reason: string,
  { prunedToOffset }: ReadFacts,
  source?: ReadTable,
): void {
  if (file.from > prunedToOffset) return;
  const offsets = `offsets ${String(file.from)} to ${String(file.to)}`;
  const view = source?.projection === undefined ? undefined : source.name.replace('derived.', '');
  throw refusedBy(
    `${offsets}${view === undefined ? '' : ` of derived.${view}`} must be rewritten because ${reason}, but history up to ${String(prunedToOffset)} was pruned from the database`,
    view === undefined
      ? 'export into another, empty folder, and keep this one for the earlier history'
      : `to keep its earlier rows, export into another folder; to remove them from this one, run ledger-indexer projection drop ${view}, export, and add the projection again`,
  );
}

/**
 * @throws LakeError EXPORT_REFUSED if history was pruned that the lake does not have, so that the lake would have a gap
 */
export function rejectPrunedRange({ head: { until: untilOffset } }: Manifest, { prunedToOffset }: ReadFacts): void {
  if (untilOffset === null || untilOffset >= prunedToOffset) return;
  throw refusedBy(
    `the lake ends at offset ${String(untilOffset)}, and history up to ${String(prunedToOffset)} was pruned from the database before it was exported`,
    'export into another, empty folder; to keep it from being pruned, export with --hold NAME',
  );
}

function countWithin(offsets: readonly number[], from: number, to: number): number {
  return firstFrom(offsets, to + 1) - firstFrom(offsets, from);
}

/** Number of the sorted offsets that are before an offset. */
function firstFrom(offsets: readonly number[], offset: number): number {
  let [low, high] = [0, offsets.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((offsets[middle] ?? offset) < offset) low = middle + 1;
    else high = middle;
  }
  return low;
}
