/** Opens the indexed database of the benchmark, as an export does. */
import { openDatabase, type Database } from '../../src/store/connection/database.ts';
import { schema } from '../postgres.ts';

/** The caller closes it. */
export function openIndexed(url: string): Database {
  return openDatabase({ url, schema, statementTimeoutMs: 600_000, applicationName: 'bench lake' });
}
