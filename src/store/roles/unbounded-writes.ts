/**
 * Functions of Postgres through which every login can write, even without any rights. They create large objects, which
 * stay in the database, or messages in the write-ahead log. Neither is limited in size. This program calls none of
 * these functions.
 */
import type { ClientBase } from 'pg';
import { readersWithExecute, revokeFromPublic } from './reader-functions.ts';

const writeFunctionCondition = `p.pronamespace = 'pg_catalog'::regnamespace and (p.proname in ('lo_creat', 'lo_create', 'lo_from_bytea', 'lo_put',
  'lowrite', 'lo_truncate', 'lo_truncate64', 'lo_unlink', 'lo_import', 'pg_logical_emit_message'))`;

/**
 * The statement that revokes these functions from all roles in this database. Only a superuser may run it, because
 * Postgres owns them.
 */
export const revokeUnboundedWrites = revokeFromPublic(writeFunctionCondition);

/** Names of logins that only read the stream and may call these functions. */
export function unboundedWriters(client: ClientBase, storage: string): Promise<readonly string[]> {
  return readersWithExecute(client, storage, writeFunctionCondition);
}
