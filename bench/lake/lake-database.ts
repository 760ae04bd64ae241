/** The indexed database of the bench, as an export opens it. */
import { openDatabase, type Database } from '../../src/store/connection/database.ts';
import { schema } from '../postgres.ts';

/** Rows of a table in a range, so that a small history has several. */
export const rowsPerRange = 6_000;

/** To be closed by the caller. */
export function openIndexed(url: string): Database {
  return openDatabase({ url, schema, statementTimeoutMs: 600_000, applicationName: 'bench lake' });
}
