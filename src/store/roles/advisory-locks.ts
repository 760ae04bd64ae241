/**
 * Functions of Postgres that take advisory locks. Every login may call them. The writer lock, migrations, pruning and
 * the creation of views use such locks. A login that holds one of them stops the indexer, and a login that takes
 * thousands fills the lock table of the server. Therefore, if a superuser creates reader roles, only the roles that
 * write may still call these functions.
 */
import type { ClientBase } from 'pg';
import { grantToThoseWhoWrite, readersWithExecute, revokeFromPublic } from './reader-functions.ts';

const lockFunctionCondition = `p.pronamespace = 'pg_catalog'::regnamespace
  and p.proname ~ '^pg_(try_)?advisory_(xact_)?lock(_shared)?$'`;

/**
 * Statements that let only the roles that write call these functions, in this database. Run them after these roles have
 * their rights on tables. Only a superuser may run them, because the functions belong to the superuser that initialized
 * the server.
 */
export const restrictLocksToWriters: readonly string[] = [
  revokeFromPublic(lockFunctionCondition),
  grantToThoseWhoWrite(lockFunctionCondition),
];

/** Names of logins that only read the stream and may take advisory locks. */
export function readersWithLockRights(client: ClientBase, storage: string): Promise<readonly string[]> {
  return readersWithExecute(client, storage, lockFunctionCondition);
}
