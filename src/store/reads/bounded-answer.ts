/** Reads the result of one statement of a user into memory, limited in rows and characters. */
import type { Database } from '../connection/database.ts';
import { ask, type Admit, type ResultColumn, type ResultRow, type ReadQuery } from './answer.ts';

/** Limits of a result. */
export interface ResultBounds {
  readonly rows: number;
  /** Maximum characters of all values together. */
  readonly characters: number;
}

export interface BoundedResult {
  readonly columns: readonly ResultColumn[];
  readonly rows: readonly ResultRow[];
  /** Whether the result has all rows. */
  readonly complete: boolean;
}

/**
 * Runs {@link ask}, and stops reading at the limits.
 * @throws IndexerError as `ask`
 */
export async function runBoundedQuery(
  database: Database,
  readQuery: ReadQuery,
  bounds: ResultBounds,
  stop: AbortSignal,
  admit?: Admit,
): Promise<BoundedResult> {
  let boundedResult: BoundedResult = { columns: [], rows: [], complete: true };
  await ask(database, readQuery, { asJson: false, stop, admit }, async ({ columns, pages }) => {
    boundedResult = { columns, ...(await collectWithin(bounds, pages)) };
  });
  stop.throwIfAborted();
  return boundedResult;
}

async function collectWithin(
  bounds: ResultBounds,
  pages: AsyncIterable<readonly ResultRow[]>,
): Promise<Omit<BoundedResult, 'columns'>> {
  const rows: ResultRow[] = [];
  let charactersLeft = bounds.characters;
  for await (const page of pages) {
    for (const row of page) {
      charactersLeft -= row.reduce((sum, value) => sum + (value?.length ?? 0), 0);
      if (rows.length === bounds.rows || charactersLeft < 0) return { rows, complete: false };
      rows.push(row);
    }
  }
  return { rows, complete: true };
}
