/**
 * Functions of Postgres that take advisory locks. Every login may take any of them, and the right to write, migrations, pruning and the making of views
 * are such locks: a login that holds one keeps the indexer waiting for as long as it likes, and one that takes thousands fills the lock table of the
 * whole server. So where a superuser grants roles, only those who write keep these functions.
 */
import { escapeIdentifier, type ClientBase } from 'pg';
import { readSchemas } from '../connection/read-schemas.ts';
import { moreThanReading } from './role-reach.ts';

const taking = `p.pronamespace = 'pg_catalog'::regnamespace
  and p.proname ~ '^pg_(try_)?advisory_(xact_)?lock(_shared)?$'`;

/** The statement that leaves them to these roles alone, in this database. Only a superuser may: Postgres owns them. */
export function leaveLocksTo(roles: readonly string[]): string {
  return `do $$
declare
  called text;
begin
  for called in select p.oid::regprocedure::text from pg_proc p where ${taking} loop
    execute 'revoke execute on function ' || called || ' from public';
    execute 'grant execute on function ' || called || ' to ${roles.map((role) => escapeIdentifier(role)).join(', ')}';
  end loop;
end
$$`;
}

/** Logins that only read the stream and may take advisory locks, by name. */
export async function readersThatLock(client: ClientBase, storage: string): Promise<readonly string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select l.rolname::text as name from pg_roles l
      where l.rolcanlogin and has_schema_privilege(l.oid, to_regnamespace(quote_ident($1)), 'usage')
        and ${moreThanReading('l.oid', storage)} is null
        and exists (select from pg_proc p where ${taking} and has_function_privilege(l.oid, p.oid, 'execute'))
      order by 1`,
    [readSchemas(storage).explore],
  );
  return rows.map(({ name }) => name);
}
