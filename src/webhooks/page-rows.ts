/** Number of rows of the pages that a webhook reads. Pure. */
import type { ChangesPage } from '../model/push/changes.ts';

/** Maximum number of rows in the first page; for later pages it depends on the length of the events. */
export const firstRows = 100;
const maxRows = 1_000;
/** Intended length of one page; its number of rows is computed from the length of earlier events. */
const pageCharacters = 4 * 1024 * 1024;

/** Number of rows of the next page; undefined if this page is empty and does not determine it. */
export function rowsAfter({ changes }: ChangesPage): number | undefined {
  if (changes.length === 0) return undefined;
  const meanLength = changes.reduce((sum, { json }) => sum + json.length, 0) / changes.length;
  return Math.max(1, Math.min(maxRows, Math.floor(pageCharacters / meanLength)));
}
