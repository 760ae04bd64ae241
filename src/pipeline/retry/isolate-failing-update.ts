/**
 * Finds the update, or the entry of the active contracts, that Postgres rejects. A batch fails as a unit. Unless the
 * failure may be transient, its entries are retried one by one, and the error names the entry that fails. Pure.
 */
import { withContext, type IndexerError } from '../../errors/indexer-error.ts';

/** Range to process one by one: offsets, or numbers of entries, after `from` and up to `upTo`. */
export interface OffsetRange {
  readonly from: number;
  readonly upTo: number;
}

export const emptyRange: OffsetRange = { from: 0, upTo: 0 };

/**
 * Number of consecutive failures, with nothing stored in between, that may be transient. Failures with other codes are
 * not caused by the data.
 */
const accidents: Readonly<Record<string, number>> = {
  STORE_DATA_REFUSED: 0,
  STORE_CONSTRAINT: 0,
  // A concurrent writer may be the cause; the next session detects it.
  STORE_DUPLICATE: 1,
  // A lock or a busy disk is temporary. In any case, a smaller batch may succeed.
  STORE_STATEMENT_TIMEOUT: 2,
};

/** The failure of a batch, with the range of the batch. */
export function withRange(error: IndexerError, { from, upTo }: OffsetRange): IndexerError {
  return withContext(error, { facts: { from, upTo } });
}

/** Whether the failure was caused by one update or entry that was written in a separate transaction. */
export function isNamed({ facts }: IndexerError): boolean {
  return facts['offset'] !== undefined || facts['entry'] !== undefined;
}

/**
 * The range that the next session has to process one by one.
 * @param repeated number of consecutive failures with this code, including this one
 */
export function searchRangeOf(error: IndexerError, repeated: number): OffsetRange | undefined {
  const { from, upTo } = error.facts;
  if (typeof from !== 'number' || typeof upTo !== 'number') return undefined;
  // After the update was found, it is tried separately until it can be stored.
  return isNamed(error) || repeated > (accidents[error.code] ?? Infinity) ? { from, upTo } : undefined;
}

/**
 * How many entries to take at position `at`: one at a time within the range, and never some of it together with earlier
 * ones.
 */
export function batchSizeAt(at: number, { from, upTo }: OffsetRange, maxUpdates: number): number {
  if (at >= upTo) return maxUpdates;
  return at < from ? Math.min(maxUpdates, from - at) : 1;
}
