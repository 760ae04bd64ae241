/** Functions of Postgres that every login may call unless a superuser revokes them. */
import type { ClientBase } from 'pg';
import { readSchemas } from '../connection/read-schemas.ts';
import { rightsBeyondReading } from './role-reach.ts';

/**
 * Names of logins that only read the stream and may call one of these functions.
 * @param functions SQL: a condition on a row `p` of `pg_proc`
 */
export async function readersWithExecute(
  client: ClientBase,
  storage: string,
  functions: string,
): Promise<readonly string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select l.rolname::text as name from pg_roles l
      where l.rolcanlogin and has_schema_privilege(l.oid, to_regnamespace(quote_ident($1)), 'usage')
        and ${rightsBeyondReading('l.oid', storage)} is null
        and exists (select from pg_proc p where ${functions} and has_function_privilege(l.oid, p.oid, 'execute'))
      order by 1`,
    [readSchemas(storage).explore],
  );
  return rows.map(({ name }) => name);
}

/**
 * The statement that revokes these functions from `public` in this database. It does not change rights that were
 * granted to roles, so it is run each time roles are granted. Only a superuser may run it.
 */
export function revokeFromPublic(functions: string): string {
  return `do $$
declare
  called text;
begin
  for called in select p.oid::regprocedure::text from pg_proc p
                 where ${functions} and has_function_privilege('public', p.oid, 'execute') loop
    execute format('revoke execute on function %s from public', called);
  end loop;
end
$$`;
}

/**
 * The statement that grants these functions to the owners of all streams in this database, and to the roles that may
 * change their tables.
 */
export function grantToThoseWhoWrite(functions: string): string {
  return `do $$
declare
  called text;
  writing text;
begin
  for called, writing in
    select p.oid::regprocedure::text, r.rolname from pg_proc p cross join pg_roles r
     where ${functions} and not has_function_privilege(r.oid, p.oid, 'execute') and r.oid in (${rolesWithWriteRights}) loop
    execute format('grant execute on function %s to %I', called, writing);
  end loop;
end
$$`;
}

/** SQL: oids of roles. Rights on columns are ignored, because no role has rights only on columns. */
const rolesWithWriteRights = `
  select w.role from pg_namespace n cross join lateral (
    select n.nspowner as role
     union all select t.relowner from pg_class t where t.relnamespace = n.oid
     union all select a.grantee from pg_class t cross join aclexplode(t.relacl) a
                where t.relnamespace = n.oid and a.privilege_type in ('INSERT', 'UPDATE', 'DELETE')) w
   where exists (select from pg_class t where t.relnamespace = n.oid and t.relname = 'contracts')
     and exists (select from pg_class t where t.relnamespace = n.oid and t.relname = 'batches')`;
