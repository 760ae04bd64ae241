/**
 * Makes views safe for roles that are limited to parties. By default, views run with the rights of their owner, who can
 * read every row. If there are limited roles, every view has to run with the rights of its reader instead. A view that
 * is replaced loses that setting, so code that creates views calls this module in the same transaction. If there are no
 * limited roles, nothing is changed.
 */
import { escapeIdentifier } from 'pg';
import type { ClientBase } from 'pg';
import type { ReadSchemas } from '../connection/read-schemas.ts';
import { allReadersPolicy, limitedTables } from './party-policies.ts';

/** Roles that are limited to parties. They are recognized because a restrictive policy of the storage names them. */
export async function limitedRoles(client: ClientBase, storage: string): Promise<readonly string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select distinct r.rolname::text as name
       from pg_policy p
       join pg_class c on c.oid = p.polrelid
       join pg_roles r on r.oid = any (p.polroles)
      where c.relnamespace = (select oid from pg_namespace where nspname = $1) and not p.polpermissive
      order by 1`,
    [storage],
  );
  return rows.map(({ name }) => name);
}

/**
 * The statements that disable row-level security on tables on which it hides no row, because the last limited role is
 * gone. Policies of others are kept, and so is the row-level security of their tables.
 */
export async function unusedRowSecurity(client: ClientBase, storage: string): Promise<readonly string[]> {
  const { rows } = await client.query<{ statement: string }>(
    `select format('alter table %I.%I disable row level security', n.nspname, c.relname) as statement
       from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = $1 and c.relname = any ($2) and c.relrowsecurity
        and not exists (select from pg_policy p where p.polrelid = c.oid and p.polname <> $3)
      order by 1`,
    [storage, limitedTables(), allReadersPolicy],
  );
  return rows.map(({ statement }) => statement);
}

/** Whether the login of this session is limited to parties, directly or as a member of a limited role. */
export async function isLimited(client: ClientBase, storage: string): Promise<boolean> {
  const { rows } = await client.query<{ limited: boolean }>(
    `select exists (
       select from pg_policy p join pg_class c on c.oid = p.polrelid cross join unnest(p.polroles) r
        where c.relnamespace = (select oid from pg_namespace where nspname = $1) and not p.polpermissive
          and r <> 0 and pg_has_role(session_user, r, 'member')) as limited`,
    [storage],
  );
  return rows[0]?.limited !== false;
}

/** Makes every view of the schemas run with the rights of its reader, and then lets the limited roles read it. */
export async function secureViews(client: ClientBase, schemas: ReadSchemas): Promise<void> {
  const roles = await limitedRoles(client, schemas.storage);
  if (roles.length > 0) await secureViewsFor(client, schemas, roles);
}

/** Does the same for these roles, even if they have no policies yet. */
export async function secureViewsFor(
  client: ClientBase,
  schemas: ReadSchemas,
  roles: readonly string[],
): Promise<void> {
  const { rows } = await client.query<{ schema: string; view: string; secure: boolean; granted: boolean }>(
    `select n.nspname::text as schema, c.relname::text as view,
            coalesce(c.reloptions::text[] && array['security_invoker=true', 'security_invoker=on'], false) as secure,
            (select bool_and(has_table_privilege(r.rolname, c.oid, 'select'))
               from pg_roles r where r.rolname = any ($2)) as granted
       from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where c.relkind = 'v' and n.nspname = any ($1) order by 1, 2`,
    [Object.values(schemas), roles],
  );
  const grantees = roles.map((role) => escapeIdentifier(role)).join(', ');
  for (const { schema, view, secure, granted: isGranted } of rows) {
    const name = `${escapeIdentifier(schema)}.${escapeIdentifier(view)}`;
    if (!secure) await client.query(`alter view ${name} set (security_invoker = true)`);
    if (!isGranted) await client.query(`grant select on ${name} to ${grantees}`);
  }
}
