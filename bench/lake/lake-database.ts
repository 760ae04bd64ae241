/** Opens the indexed database of the bench as an export does. */
import { openDatabase, type Database } from '../../src/store/connection/database.ts';
import { schema } from '../postgres.ts';

/** To be closed by the caller. */
export function openIndexed(url: string): Database {
  return openDatabase({ url, schema, statementTimeoutMs: 600_000, applicationName: 'bench lake' });
}
