/**
 * Copies objects that operators have added to the tables of a storage (indexes, statistics, rights, policies, settings)
 * to the same tables on another server. On both servers, the objects are listed as the statements that create them.
 * Statements that are listed only on the old server are run on the new server.
 */
import type { ClientBase, QueryConfig } from 'pg';
import type { Database } from '../connection/database.ts';
import { readSchemas } from '../connection/read-schemas.ts';
import { toStoreError } from '../connection/store-error.ts';
import { dropContentStatistics } from '../roles/content-statistics.ts';
import { limitedRoles, secureViews } from '../roles/secure-views.ts';
import { searchIn } from '../swap/dependents.ts';

/** Creating an index on a large table takes long, and the driver cannot disable its time limit for a single query. */
const buildLimitMs = 24 * 60 * 60 * 1000;

interface DatabaseObject {
  /** Identity of the object on both servers. */
  readonly key: string;
  readonly statement: string;
  /** Names of the roles in the statement; they must exist on the other server. */
  readonly roles: readonly string[];
}

// In the queries below, $1 is the storage schema, $2 the schemas of the stream, $3 the name of the other database.

const inStorageSql = `c.relnamespace = (select oid from pg_namespace where nspname = $1::text)`;
const inSchemasSql = `n.nspname = any ($2::text[])`;
const granteeExpression = `case a.grantee when 0 then 'public' else quote_ident(pg_get_userbyid(a.grantee)) end`;
const grantee = `case a.grantee when 0 then '{}' else array[pg_get_userbyid(a.grantee)::text] end`;
const option = `case when a.is_grantable then ' with grant option' else '' end`;

const indexes = `
select 'index ' || x.relname as key, pg_get_indexdef(i.indexrelid, 0, true) as statement, '{}'::text[] as roles
  from pg_index i join pg_class x on x.oid = i.indexrelid join pg_class c on c.oid = i.indrelid
 where ${inStorageSql} and i.indisvalid`;

const statistics = `
select 'statistics ' || s.stxname, format('create statistics %I%s on %s from %I', s.stxname,
              (select ' (' || string_agg(case k when 'd' then 'ndistinct' when 'f' then 'dependencies' else 'mcv' end, ', ') || ')'
                 from unnest(s.stxkind) k where k in ('d', 'f', 'm')),
              pg_get_statisticsobjdef_columns(s.oid), c.relname), '{}'::text[]
  from pg_statistic_ext s join pg_class c on c.oid = s.stxrelid where ${inStorageSql}`;

const settings = `
select null, format('alter table %I set (%s)', c.relname, array_to_string(c.reloptions, ', ')), '{}'::text[]
  from pg_class c where ${inStorageSql} and c.relkind in ('r', 'p') and c.reloptions is not null
union all
select null, format('alter table %I alter column %I set statistics %s', c.relname, t.attname, t.attstattarget), '{}'
  from pg_class c join pg_attribute t on t.attrelid = c.oid and t.attnum > 0 and not t.attisdropped and t.attstattarget >= 0
 where ${inStorageSql} and c.relkind in ('r', 'p')`;

const policies = `
select format('policy %s of %s', p.polname, c.relname),
       format('create policy %I on %I as %s for %s to %s%s%s', p.polname, c.relname,
              case when p.polpermissive then 'permissive' else 'restrictive' end,
              case p.polcmd when 'r' then 'select' when 'a' then 'insert' when 'w' then 'update' when 'd' then 'delete' else 'all' end,
              (select string_agg(case r when 0 then 'public' else quote_ident(pg_get_userbyid(r)) end, ', ') from unnest(p.polroles) r),
              ' using (' || pg_get_expr(p.polqual, p.polrelid) || ')',
              ' with check (' || pg_get_expr(p.polwithcheck, p.polrelid) || ')'),
       array(select pg_get_userbyid(r)::text from unnest(p.polroles) r where r <> 0)
  from pg_policy p join pg_class c on c.oid = p.polrelid where ${inStorageSql}
union all
select null, format('alter table %I enable row level security', c.relname), '{}'
  from pg_class c where ${inStorageSql} and c.relkind in ('r', 'p') and c.relrowsecurity`;

const grants = `
select null, format('grant %s on schema %I to %s%s', a.privilege_type, n.nspname, ${granteeExpression}, ${option}), ${grantee}
  from pg_namespace n cross join lateral aclexplode(n.nspacl) a where ${inSchemasSql} and a.grantee <> n.nspowner
union all
select null, format('grant %s on %I.%I to %s%s', a.privilege_type, n.nspname, c.relname, ${granteeExpression}, ${option}), ${grantee}
  from pg_class c join pg_namespace n on n.oid = c.relnamespace cross join lateral aclexplode(c.relacl) a
 where ${inSchemasSql} and c.relkind in ('r', 'p', 'v') and a.grantee <> c.relowner
union all
select null, format('grant %s (%I) on %I.%I to %s%s', a.privilege_type, t.attname, n.nspname, c.relname, ${granteeExpression}, ${option}), ${grantee}
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  join pg_attribute t on t.attrelid = c.oid and not t.attisdropped and t.attacl is not null
 cross join lateral aclexplode(t.attacl) a
 where ${inSchemasSql} and c.relkind in ('r', 'p', 'v') and a.grantee <> c.relowner
union all
select null, format('grant execute on routine %I.%I(%s) to %s%s', n.nspname, p.proname,
              pg_get_function_identity_arguments(p.oid), ${granteeExpression}, ${option}), ${grantee}
  from pg_proc p join pg_namespace n on n.oid = p.pronamespace cross join lateral aclexplode(p.proacl) a
 where ${inSchemasSql} and a.grantee <> p.proowner
union all
-- Default privileges of the owner; on the other server, of the role that creates the storage there.
select null, format('alter default privileges in schema %I grant %s on %s to %s%s', n.nspname, a.privilege_type,
              case d.defaclobjtype when 'r' then 'tables' when 'S' then 'sequences' when 'f' then 'functions' else 'types' end,
              ${granteeExpression}, ${option}), ${grantee}
  from pg_default_acl d join pg_namespace n on n.oid = d.defaclnamespace cross join lateral aclexplode(d.defaclacl) a
 where ${inSchemasSql} and d.defaclrole = n.nspowner`;

/**
 * Settings (limits, search paths and the role of a migrator) of roles that may use the stream, in its database. Members
 * of the owner are included, because they have no grants of their own.
 */
const roleSettings = `
select null, format('alter role %I in database %I set %s to %s', r.rolname, $3::text, v.name,
              case when v.name = 'search_path' then v.value else quote_literal(v.value) end),
       array[r.rolname::text] || case when v.name = 'role' then array[v.value] else '{}' end
  from pg_db_role_setting d join pg_roles r on r.oid = d.setrole cross join lateral unnest(d.setconfig) s
 cross join lateral (select split_part(s, '=', 1) as name, substring(s from position('=' in s) + 1) as value) v
 where d.setdatabase = (select oid from pg_database where datname = current_database())
   and exists (select from pg_namespace n where ${inSchemasSql}
                  and (exists (select from aclexplode(n.nspacl) a where a.grantee = r.oid)
                       or exists (select from pg_auth_members m where m.roleid = n.nspowner and m.member = r.oid)))`;

/** The kinds of objects in the order of creation. Limited roles get their rights last. */
const kinds = [indexes, statistics, settings, policies, grants, roleSettings];

/**
 * Creates missing objects on the other server. Each object is created in its own transaction, so that the job that
 * fills the storage waits for only one table at a time. Resolves to descriptions of the objects that could not be
 * created.
 */
export async function copyObjects(from: Database, to: Database): Promise<readonly string[]> {
  const name = await to.withClient(async (client) => {
    const { rows } = await client.query<{ name: string }>('select current_database()::text as name');
    return rows[0]?.name ?? '';
  });
  const notCopied: string[] = [];
  const absentRoles = new Set<string>();
  for (const kind of kinds) {
    const existingKeys = new Set((await readObjects(to, kind, name)).map(({ key }) => key));
    const missingObjects = (await readObjects(from, kind, name)).filter(({ key }) => !existingKeys.has(key));
    const roles = await missingRoles(to, new Set(missingObjects.flatMap((databaseObject) => databaseObject.roles)));
    for (const databaseObject of missingObjects) {
      const unknownRoles = databaseObject.roles.filter((role) => roles.has(role));
      for (const role of unknownRoles) absentRoles.add(role);
      if (unknownRoles.length > 0) continue;
      const failed = await createObject(to, databaseObject);
      if (failed !== undefined) notCopied.push(failed);
    }
  }
  if (await to.withClient(async (client) => (await limitedRoles(client, to.schema)).length > 0))
    await dropContentStatistics(to);
  await to.transaction((client) => secureViews(client, readSchemas(to.schema)));
  return [
    ...[...absentRoles].map((role) => `rights of role "${role}", which is not on the other server`),
    ...notCopied,
  ];
}

async function readObjects(
  sourceDatabase: Database,
  kind: string,
  database: string,
): Promise<readonly DatabaseObject[]> {
  const { schema } = sourceDatabase;
  return sourceDatabase.transaction(async (client) => {
    await searchIn(client, schema);
    const { rows } = await client.query<{ key: string | null; statement: string; roles: readonly string[] }>(
      // The condition uses all parameters, because some of the queries do not use all of them.
      `select key, statement, roles from (${kind}) found (key, statement, roles)
        where $1::text <> '' and $2::text[] <> '{}' and $3::text <> '' order by 2`,
      [schema, Object.values(readSchemas(schema)), database],
    );
    return rows.map(({ key, statement, roles }) => ({ key: key ?? statement, statement, roles }));
  });
}

async function missingRoles(to: Database, names: ReadonlySet<string>): Promise<ReadonlySet<string>> {
  if (names.size === 0) return new Set();
  const { rows } = await to.withClient((client) =>
    client.query<{ name: string }>(
      'select name from unnest($1::text[]) name where not exists (select from pg_roles where rolname = name)',
      [[...names]],
    ),
  );
  return new Set(rows.map(({ name }) => name));
}

async function createObject(to: Database, { key, statement }: DatabaseObject): Promise<string | undefined> {
  try {
    await to.transaction((client) => runWithBuildLimit(client, to.schema, statement));
    return undefined;
  } catch (thrown) {
    return `${key}: ${toStoreError(thrown).message}`;
  }
}

async function runWithBuildLimit(client: ClientBase, schema: string, statement: string): Promise<void> {
  await client.query('set local statement_timeout = 0');
  await searchIn(client, schema);
  const buildQuery: QueryConfig & { query_timeout: number } = { text: statement, query_timeout: buildLimitMs };
  await client.query(buildQuery);
}
