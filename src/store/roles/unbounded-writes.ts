/**
 * Functions of Postgres by which every login writes, whatever it was granted: large objects, which stay, and messages in the write-ahead log.
 * Nothing bounds either. Nothing of ours calls them.
 */
import type { ClientBase } from 'pg';
import { readSchemas } from '../connection/read-schemas.ts';
import { moreThanReading } from './role-reach.ts';

const writing = `p.pronamespace = 'pg_catalog'::regnamespace and (p.proname in ('lo_creat', 'lo_create', 'lo_from_bytea', 'lo_put',
  'lowrite', 'lo_truncate', 'lo_truncate64', 'lo_unlink', 'lo_import', 'pg_logical_emit_message'))`;

/** The statement that takes them from everybody in this database. Only a superuser may: Postgres owns them. */
export const revokeUnboundedWrites = `do $$
declare
  called text;
begin
  for called in select p.oid::regprocedure::text from pg_proc p where ${writing} loop
    execute 'revoke execute on function ' || called || ' from public';
  end loop;
end
$$`;

/** Logins that only read the stream and may call them, by name. */
export async function unboundedWriters(client: ClientBase, storage: string): Promise<readonly string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select l.rolname::text as name from pg_roles l
      where l.rolcanlogin and has_schema_privilege(l.oid, to_regnamespace(quote_ident($1)), 'usage')
        and ${moreThanReading('l.oid', storage)} is null
        and exists (select from pg_proc p where ${writing} and has_function_privilege(l.oid, p.oid, 'execute'))
      order by 1`,
    [readSchemas(storage).explore],
  );
  return rows.map(({ name }) => name);
}
