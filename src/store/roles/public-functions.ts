/**
 * Rights that are revoked from every login in the database when a superuser creates reader roles. Without them, readers
 * cannot stop the indexer or fill the disk.
 */
import type { ClientBase } from 'pg';
import { restrictLocksToWriters } from './advisory-locks.ts';
import { revokeUnboundedWrites } from './unbounded-writes.ts';

/**
 * The statements that revoke these rights. Only a superuser may run them. Run them after the roles that write have
 * their rights on tables.
 */
export const revokePublicFunctions: readonly string[] = [revokeUnboundedWrites, ...restrictLocksToWriters];

/**
 * Runs these statements if the current role is a superuser; otherwise does nothing. `ledger-indexer check` names
 * readers that may still call the functions.
 */
export async function revokePublicIfSuperuser(client: ClientBase): Promise<void> {
  const { rowCount } = await client.query('select from pg_roles where rolname = current_user and rolsuper');
  if (rowCount === 0) return;
  for (const statement of revokePublicFunctions) await client.query(statement);
}
