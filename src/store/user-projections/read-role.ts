/** The role that reads the rows of projections of users, unless another one is named. */
import { IndexerError } from '../../errors/indexer-error.ts';
import type { Database } from '../connection/database.ts';
import { grantReader } from '../roles/reader-role.ts';
import { refusalError } from './select-objects.ts';

/** The reader that `grant-roles` creates without `--prefix`. */
export function defaultReadRole(storage: string): string {
  return `${storage}_reader`;
}

/**
 * Creates the default role if it is missing. It cannot log in.
 * @throws IndexerError PROJECTION_REFUSED if this session may not create roles
 */
export async function ensureDefaultReadRole(database: Database): Promise<void> {
  const role = defaultReadRole(database.schema);
  const isThere = await database.withClient(async (client) => {
    const { rowCount } = await client.query('select from pg_roles where rolname = $1', [role]);
    return rowCount === 1;
  });
  if (isThere) return;
  try {
    await grantReader(database, { role, parties: [], password: undefined, sharedDatabase: true });
  } catch (thrown) {
    if (!(thrown instanceof IndexerError) || thrown.code !== 'STORE_NOT_PERMITTED') throw thrown;
    throw refusalError(
      `there is no role "${role}" that reads the rows`,
      'name a role with --role, or let an administrator of the database create one: ledger-indexer grant-reader ROLE',
    );
  }
}
