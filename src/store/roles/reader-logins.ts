/**
 * Finds logins of readers: those that are limited to parties, and those whose sessions lack the defaults that
 * `grant-reader` sets.
 */
import type { ClientBase } from 'pg';
import { readSchemas } from '../connection/read-schemas.ts';
import { sessionDefaultNames } from './reader-limits.ts';
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

export interface LostDefaults {
  readonly login: string;
  /** Names of the missing settings. */
  readonly missing: readonly string[];
}

/**
 * Logins of `grant-reader` and of reader tokens that lack settings in this database. Roles of `grant-reader` are
 * recognized by a restrictive policy, or by a default privilege on new views.
 */
export async function loginsWithoutDefaults(client: ClientBase, storage: string): Promise<readonly LostDefaults[]> {
  const { rows } = await client.query<LostDefaults>(
    `with readers as (
       select r.oid from pg_roles r where r.rolname = any ($1)
       union
       select a.grantee from pg_default_acl d join pg_namespace n on n.oid = d.defaclnamespace
              cross join aclexplode(d.defaclacl) a
        where n.nspname = $2 and d.defaclobjtype = 'r' and a.privilege_type = 'SELECT')
     select l.rolname::text as login, m.missing
       from pg_roles l
      cross join lateral (
        select array(select name from unnest($3::text[]) name where not exists (
                 select from pg_db_role_setting s join pg_database d on d.oid = s.setdatabase
                        cross join unnest(s.setconfig) c
                  where d.datname = current_database() and s.setrole = l.oid and starts_with(c, name || '='))) as missing) m
      where l.rolcanlogin and m.missing <> '{}'
        and (l.oid in (select oid from readers)
             or starts_with(l.rolname, $4) and exists (select from readers r where pg_has_role(l.oid, r.oid, 'usage')))
      order by 1`,
    [await limitedRoles(client, storage), readSchemas(storage).explore, sessionDefaultNames, `${storage}_token_`],
  );
  return rows;
}
