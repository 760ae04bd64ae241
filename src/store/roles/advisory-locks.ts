/**
 * Functions of Postgres that take advisory locks. Every login may call them. The right to write, migrations, pruning and the making of views
 * are such locks: a login that holds one stops the indexer, and a login that takes thousands fills the lock table of the server. So where a
 * superuser grants roles, only the roles that write keep these functions.
 */
import { escapeIdentifier, type ClientBase } from 'pg';
import { readersThatMayCall, revokeFromPublic } from './reader-functions.ts';

const taking = `p.pronamespace = 'pg_catalog'::regnamespace
  and p.proname ~ '^pg_(try_)?advisory_(xact_)?lock(_shared)?$'`;

/** The statement that leaves them to these roles alone, in this database. Only a superuser may run it: Postgres owns them. */
export function leaveLocksTo(roles: readonly string[]): string {
  return revokeFromPublic(
    taking,
    roles.map((role) => escapeIdentifier(role)),
  );
}

/** Logins that only read the stream and may take advisory locks, by name. */
export function readersThatLock(client: ClientBase, storage: string): Promise<readonly string[]> {
  return readersThatMayCall(client, storage, taking);
}
