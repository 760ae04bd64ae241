/** Functions of Postgres that every login may call unless a superuser revokes them. */
import type { ClientBase } from 'pg';
import { readSchemas } from '../connection/read-schemas.ts';
import { moreThanReading } from './role-reach.ts';

/**
 * The logins that only read the stream and may call one of these functions, by name.
 * @param functions SQL: a condition on a row `p` of `pg_proc`
 */
export async function readersThatMayCall(
  client: ClientBase,
  storage: string,
  functions: string,
): Promise<readonly string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select l.rolname::text as name from pg_roles l
      where l.rolcanlogin and has_schema_privilege(l.oid, to_regnamespace(quote_ident($1)), 'usage')
        and ${moreThanReading('l.oid', storage)} is null
        and exists (select from pg_proc p where ${functions} and has_function_privilege(l.oid, p.oid, 'execute'))
      order by 1`,
    [readSchemas(storage).explore],
  );
  return rows.map(({ name }) => name);
}

/** The statement that revokes them from `public` in this database, and grants them to these roles. Only a superuser may run it. */
export function revokeFromPublic(functions: string, roles: readonly string[] = []): string {
  const grant = `execute 'grant execute on function ' || called || ' to ${roles.join(', ')}';`;
  return `do $$
declare
  called text;
begin
  for called in select p.oid::regprocedure::text from pg_proc p where ${functions} loop
    execute 'revoke execute on function ' || called || ' from public';
    ${roles.length === 0 ? '' : grant}
  end loop;
end
$$`;
}
