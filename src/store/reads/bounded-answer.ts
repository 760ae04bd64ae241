/** Reads the result of one statement of a user into memory, limited in rows and characters. */
import type { Database } from '../connection/database.ts';
import { ask, type AnswerColumn, type AnswerRow, type Question } from './answer.ts';

/** Limits of a result. */
export interface AnswerBounds {
  readonly rows: number;
  /** Maximum characters of all values together. */
  readonly characters: number;
}

export interface BoundedAnswer {
  readonly columns: readonly AnswerColumn[];
  readonly rows: readonly AnswerRow[];
  /** Whether the result has all rows. */
  readonly complete: boolean;
}

/**
 * Runs {@link ask}, and stops reading at the limits.
 * @throws IndexerError as `ask`
 */
export async function askBounded(
  database: Database,
  question: Question,
  bounds: AnswerBounds,
  stop: AbortSignal,
): Promise<BoundedAnswer> {
  let found: BoundedAnswer = { columns: [], rows: [], complete: true };
  await ask(database, question, { asJson: false, stop }, async ({ columns, pages }) => {
    found = { columns, ...(await within(bounds, pages)) };
  });
  stop.throwIfAborted();
  return found;
}

async function within(
  bounds: AnswerBounds,
  pages: AsyncIterable<readonly AnswerRow[]>,
): Promise<Omit<BoundedAnswer, 'columns'>> {
  const rows: AnswerRow[] = [];
  let left = bounds.characters;
  for await (const page of pages) {
    for (const row of page) {
      left -= row.reduce((sum, value) => sum + (value?.length ?? 0), 0);
      if (rows.length === bounds.rows || left < 0) return { rows, complete: false };
      rows.push(row);
    }
  }
  return { rows, complete: true };
}
