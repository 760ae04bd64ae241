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
  /** Rights and settings that this version grants and the role lacks. Rights are in GRANT notation. */
  readonly missing: readonly string[];
  /** Rights that the role has and this version does not grant. */
  readonly superfluous: readonly string[];
}

interface Role {
  readonly role: string;
  readonly prefix: string;
  readonly kind: 'owner' | 'migrator' | 'writer' | 'redactor';
}

/**
 * Reads the catalog. The result contains only roles that exist and whose rights differ. The search path must be the
 * storage schema.
 */
export async function differingRoles(client: ClientBase, storage: string): Promise<readonly DifferingRole[]> {
  const { rows: roles } = await client.query<Role & { readonly lost: readonly string[] }>(rolesOfStream);
  const results: DifferingRole[] = [];
  for (const { role, prefix, kind, lost: lostRights } of roles) {
    const { missing: missingRights, superfluous: excessRights } = await differingTables(
      client,
      role,
      rightsOf(kind, storage),
    );
    if (missingRights.length + excessRights.length + lostRights.length > 0) {
      results.push({ role, prefix, missing: [...missingRights, ...lostRights], superfluous: excessRights });
    }
  }
  return results;
}

/** Undefined for roles whose rights come from the ownership of the tables. */
function rightsOf(kind: Role['kind'], storage: string): Rights | undefined {
  if (kind === 'writer') return writerRights(storage);
  return kind === 'redactor' ? redactorRights(storage) : undefined;
}

async function differingTables(
  client: ClientBase,
  role: string,
  expected: Rights | undefined,
): Promise<Pick<DifferingRole, 'missing' | 'superfluous'>> {
  if (expected === undefined) return { missing: [], superfluous: [] };
  const expectedRights = new Set(listRights(expected));
  const grantedRows = await client.query<{ right: string }>(grantedTo, [role]);
  const grantedRights = new Set(grantedRows.rows.map(({ right: grantedRight }) => grantedRight));
  const missingRights = [...expectedRights].filter((grantedRight) => !grantedRights.has(grantedRight));
  return {
    missing: [...missingRights, ...(await missingExecuteRights(client, role, expected))],
    superfluous: [...grantedRights].filter((grantedRight) => !expectedRights.has(grantedRight)),
  };
}

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
async function missingExecuteRights(
  client: ClientBase,
  role: string,
  { called: calledFunctions }: Rights,
): Promise<readonly string[]> {
  const { rows } = await client.query<{ right: string }>(
    `select 'execute on function ' || f as right
       from unnest($2::text[]) f
       join (select p.oid, format('%s.%s(%s)', n.nspname, p.proname, oidvectortypes(p.proargtypes)) as name
               from pg_proc p join pg_namespace n on n.oid = p.pronamespace) p on p.name = replace(f, '"', '')
      where not has_function_privilege($1, p.oid, 'execute')`,
    [role, calledFunctions],
  );
  return rows.map(({ right: missingRight }) => missingRight);
}

/**
 * SQL: the roles that `grant-roles` created for the owner of the tables. They are found by the writer or redactor, which
 * has rights of its own on the tables and a name with the same prefix as the owner. `lost` lists rights and settings in
 * the database that the role lacks: `pg_restore` restores them only with `--create`.
 */
const rolesOfStream = `
with prefixes as (
  select distinct m.parts[1] as prefix
    from pg_class c cross join lateral (select distinct grantee from aclexplode(c.relacl)) a
    join pg_roles r on r.oid = a.grantee
   cross join lateral (select regexp_match(r.rolname, '^(.+)_(writer|redactor)$') as parts) m
   where c.oid = to_regclass('updates') and m.parts is not null
     and pg_get_userbyid(c.relowner) = m.parts[1] || '_owner')
select r.rolname::text as role, p.prefix, k.kind,
       array(select 'create on the database'
              where k.kind = 'owner' and not has_database_privilege(r.oid, current_database(), 'create')
             union all
             select 'the setting ' || k.setting || ' in this database'
              where k.setting is not null
                and not exists (select from pg_db_role_setting s join pg_database d on d.oid = s.setdatabase
                                 cross join unnest(s.setconfig) c
                                 where d.datname = current_database() and s.setrole = r.oid
                                   and starts_with(c, k.setting || '='))) as lost
  from prefixes p
 cross join (values ('owner', null), ('migrator', 'role'), ('writer', 'idle_in_transaction_session_timeout'),
                    ('redactor', 'idle_in_transaction_session_timeout')) k (kind, setting)
  join pg_roles r on r.rolname = p.prefix || '_' || k.kind
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
