/**
 * Functions of Postgres through which every login can write, whatever it was granted: large objects, which stay, and
 * messages in the write-ahead log. Neither is limited. This program calls none of them.
 */
import type { ClientBase } from 'pg';
import { readersThatMayCall, revokeFromPublic } from './reader-functions.ts';

const writing = `p.pronamespace = 'pg_catalog'::regnamespace and (p.proname in ('lo_creat', 'lo_create', 'lo_from_bytea', 'lo_put',
  'lowrite', 'lo_truncate', 'lo_truncate64', 'lo_unlink', 'lo_import', 'pg_logical_emit_message'))`;

/** The statement that revokes them from all roles in this database. Only a superuser may run it: Postgres owns them. */
export const revokeUnboundedWrites = revokeFromPublic(writing);

/** Logins that only read the stream and may call them, by name. */
export function unboundedWriters(client: ClientBase, storage: string): Promise<readonly string[]> {
  return readersThatMayCall(client, storage, writing);
}
