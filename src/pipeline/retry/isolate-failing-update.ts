/**
 * Finds the update, or the entry of the active contracts, that Postgres rejects. A batch fails as a unit; unless the
 * failure may be transient, its entries are retried one by one and the failing one is named. Pure.
 */
import { withContext, type IndexerError } from '../../errors/indexer-error.ts';

/** Range to process one by one: offsets, or numbers of entries, after `from` and up to `upTo`. */
export interface OffsetRange {
  readonly from: number;
  readonly upTo: number;
}

export const emptyRange: OffsetRange = { from: 0, upTo: 0 };

/**
 * How often in a row, with nothing stored in between, the failure may be transient. Failures with other codes do not
 * concern the data.
 */
const accidents: Readonly<Record<string, number>> = {
  STORE_DATA_REFUSED: 0,
  STORE_CONSTRAINT: 0,
  // The next session notices a concurrent writer.
  STORE_DUPLICATE: 1,
  // A lock or a busy disk passes; a smaller batch is worth trying in any case.
  STORE_STATEMENT_TIMEOUT: 2,
};

/** The failure of a batch, with its range. */
export function withRange(error: IndexerError, { from, upTo }: OffsetRange): IndexerError {
  return withContext(error, { facts: { from, upTo } });
}

/** Whether the failure is that of one update or entry, written alone. */
export function isNamed({ facts }: IndexerError): boolean {
  return facts['offset'] !== undefined || facts['entry'] !== undefined;
}

/**
 * The range that the next session has to process one by one.
 * @param repeated how often the failure occurred in a row, including this time
 */
export function rangeToSearch(error: IndexerError, repeated: number): OffsetRange | undefined {
  const { from, upTo } = error.facts;
  if (typeof from !== 'number' || typeof upTo !== 'number') return undefined;
  // Once found, it is tried alone until it can be stored.
  return isNamed(error) || repeated > (accidents[error.code] ?? Infinity) ? { from, upTo } : undefined;
}

/** How many to take at `at`: one at a time within the range, and never together with those before it. */
export function takeAt(at: number, { from, upTo }: OffsetRange, most: number): number {
  if (at >= upTo) return most;
  return at < from ? Math.min(most, from - at) : 1;
}
