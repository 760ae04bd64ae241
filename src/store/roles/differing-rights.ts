/**
 * Finds roles of `grant-roles` whose rights differ from those that this version grants. Migrations add tables and
 * columns, and a new version may need fewer rights. The rights of existing roles change only when they are granted
 * again.
 */
import type { ClientBase } from 'pg';
import { redactorRights, writerRights, type Rights } from './role-rights.ts';

export interface DifferingRole {
  readonly role: string;
  /** The `--prefix` with which `grant-roles` created the role. */
  readonly prefix: string;
  /** Rights that this version grants and the role lacks, in GRANT notation. */
  readonly missing: readonly string[];
  /** Rights that the role has and this version does not grant. */
  readonly superfluous: readonly string[];
}

type Kind = 'writer' | 'redactor';

/**
 * Reads the catalog. The result contains only roles that exist and whose rights differ. The search path must be the
 * storage schema.
 */
export async function differingRoles(client: ClientBase, storage: string): Promise<readonly DifferingRole[]> {
  const { rows } = await client.query<{ role: string; prefix: string; kind: Kind }>(madeRoles);
  const differing: DifferingRole[] = [];
  for (const { role, prefix, kind } of rows) {
    const expected = kind === 'writer' ? writerRights(storage) : redactorRights(storage);
    const expectedRights = new Set(listRights(expected));
    const found = await client.query<{ right: string }>(grantedTo, [role]);
    const has = new Set(found.rows.map(({ right }) => right));
    const missing = [
      ...[...expectedRights].filter((right) => !has.has(right)),
      ...(await uncallable(client, role, expected)),
    ];
    const superfluous = [...has].filter((right) => !expectedRights.has(right));
    if (missing.length + superfluous.length > 0) differing.push({ role, prefix, missing, superfluous });
  }
  for (const prefix of new Set(rows.map((row) => row.prefix))) {
    for (const { role, lost } of (await client.query<{ role: string; lost: string[] }>(lostInDatabase, [prefix]))
      .rows) {
      const at = differing.findIndex((other) => other.role === role);
      const found = differing[at] ?? { role, prefix, missing: [], superfluous: [] };
      differing.splice(at < 0 ? differing.length : at, 1, { ...found, missing: [...found.missing, ...lost] });
    }
  }
  return differing;
}

/** SQL: what `grant-roles` sets in the database itself, as far as it is missing. A restore by `pg_restore` without `--create` loses it. */
const lostInDatabase = `
select e.role, array_agg(e.lost order by e.lost) as lost
  from (select r.rolname::text as role, 'the setting ' || m.setting || ' in this database' as lost
          from (values ('_migrator', 'role'), ('_writer', 'idle_in_transaction_session_timeout'),
                       ('_redactor', 'idle_in_transaction_session_timeout')) m (kind, setting)
          join pg_roles r on r.rolname = $1 || m.kind
         where not exists (select from pg_db_role_setting s join pg_database d on d.oid = s.setdatabase
                            cross join unnest(s.setconfig) c
                            where d.datname = current_database() and s.setrole = r.oid and starts_with(c, m.setting || '='))
        union all
        select r.rolname::text, 'create on the database'
          from pg_roles r
         where r.rolname = $1 || '_owner' and not has_database_privilege(r.oid, current_database(), 'create')) e
 group by e.role
 order by e.role`;

function listRights({ inserted: rows, updated, deleted }: Rights): readonly string[] {
  return [
    ...rows.map((table) => `insert on ${table}`),
    ...Object.entries(updated).flatMap(([table, list]) =>
      list.split(', ').map((column) => `update (${column}) on ${table}`),
    ),
    ...deleted.map((table) => `delete on ${table}`),
  ];
}

/**
 * Functions that the role may not call. They are looked up in the catalog, because the current role may have no right
 * on their schema and then cannot refer to them by name.
 */
async function uncallable(client: ClientBase, role: string, { called }: Rights): Promise<readonly string[]> {
  const { rows } = await client.query<{ right: string }>(
    `select 'execute on function ' || f as right
       from unnest($2::text[]) f
       join (select p.oid, format('%s.%s(%s)', n.nspname, p.proname, oidvectortypes(p.proargtypes)) as name
               from pg_proc p join pg_namespace n on n.oid = p.pronamespace) p on p.name = replace(f, '"', '')
      where not has_function_privilege($1, p.oid, 'execute')`,
    [role, called],
  );
  return rows.map(({ right }) => right);
}

/**
 * SQL: roles that `grant-roles` created. Such a role has its own rights on the tables, and its name has the same prefix
 * as the name of the owner.
 */
const madeRoles = `
select r.rolname::text as role, m.parts[1] as prefix, m.parts[2] as kind
  from pg_class c cross join lateral (select distinct grantee from aclexplode(c.relacl)) a
  join pg_roles r on r.oid = a.grantee
 cross join lateral (select regexp_match(r.rolname, '^(.+)_(writer|redactor)$') as parts) m
 where c.oid = to_regclass('updates') and m.parts is not null
   and pg_get_userbyid(c.relowner) = m.parts[1] || '_owner'
 order by 1`;

const grantedTo = `
with tables as (
  select c.oid, c.relname, c.relacl from pg_class c
   where c.relnamespace = to_regnamespace(quote_ident(current_schema())) and c.relkind in ('r', 'p'))
select format('%s on %I', lower(a.privilege_type), t.relname) as right
  from tables t cross join aclexplode(t.relacl) a
 where a.grantee = (select oid from pg_roles where rolname = $1) and a.privilege_type <> 'SELECT'
union
select format('%s (%I) on %I', lower(a.privilege_type), c.attname, t.relname)
  from tables t join pg_attribute c on c.attrelid = t.oid and c.attnum > 0 and not c.attisdropped
  cross join aclexplode(c.attacl) a
 where a.grantee = (select oid from pg_roles where rolname = $1)
 order by 1`;
