/** Finds roles that are limited to parties and can log in, so that they can run their own SQL. */
import type { ClientBase } from 'pg';
import { limitedRoles } from './secure-views.ts';

export interface ReaderLogins {
  /** Names of all roles that are limited to parties. */
  readonly limited: readonly string[];
  /**
   * Names of such roles that can log in, and of logins that are members of such a role, for example the logins of
   * tokens.
   */
  readonly logins: readonly string[];
}

/** Reads the catalog. Superusers and roles that bypass row security are excluded, because they can read everything. */
export async function readerLogins(client: ClientBase, storage: string): Promise<ReaderLogins> {
  const limitedRoleNames = await limitedRoles(client, storage);
  const { rows } = await client.query<{ name: string }>(
    `select l.rolname::text as name from pg_roles l
      where l.rolcanlogin and not l.rolsuper and not l.rolbypassrls
        and exists (select from pg_roles r where r.rolname = any ($1) and pg_has_role(l.oid, r.oid, 'usage'))
        and not coalesce(has_table_privilege(l.oid, to_regclass('contracts'), 'insert'), false)
      order by 1`,
    [limitedRoleNames],
  );
  return { limited: limitedRoleNames, logins: rows.map(({ name }) => name) };
}
