/**
 * Copies objects that operators and readers have added to the tables of one storage to those of another: indexes,
 * statistics, grants, policies, triggers, publications, settings and comments. The server prints the statement of each
 * object with the first storage in the search path, so that it names no schema. The statement then runs with the other
 * storage in the search path.
 */
import { escapeIdentifier } from 'pg';
import type { ClientBase, QueryConfig } from 'pg';
import { disableStatisticsIfLimited } from '../roles/content-statistics.ts';
import { searchIn } from './dependents.ts';

/** The driver cannot disable its time limit for a single query, so this limit is very long. */
const buildLimitMs = 24 * 60 * 60 * 1000;

/**
 * Runs a query that returns statements. In the query, $1 is the schema of one storage and $2 is the schema of the other
 * storage.
 */
async function statements(client: ClientBase, text: string, from: string, to: string): Promise<readonly string[]> {
  await searchIn(client, from);
  const { rows } = await client.query<{ statement: string }>(text, [from, to]);
  return rows.map(({ statement }) => statement);
}

async function runInSchema(client: ClientBase, schema: string, texts: readonly string[]): Promise<void> {
  await searchIn(client, schema);
  if (texts.length === 0) return;
  const buildQuery: QueryConfig & { query_timeout: number } = { text: texts.join(';\n'), query_timeout: buildLimitMs };
  await client.query(buildQuery);
}

/** SQL: pairs of relations that have the same name and kind. `o` is in schema $1, and `n` is in schema $2. */
const pairs = `pg_class o join pg_class n on n.relname = o.relname and n.relkind = o.relkind
  where o.relnamespace = (select oid from pg_namespace where nspname = $1)
    and n.relnamespace = (select oid from pg_namespace where nspname = $2)`;

// Creating indexes and statistics takes long on large tables, so this is done before any session has to wait.

/** SQL: indexes that the other storage lacks, except indexes of keys. */
const missingIndexes = `
select pg_get_indexdef(i.indexrelid, 0, true) as statement
  from pg_index i
  join pg_class x on x.oid = i.indexrelid
  join (select o.oid as before, n.oid as after from ${pairs} and o.relkind in ('r', 'p')) t on t.before = i.indrelid
 where i.indisvalid
   and not exists (select from pg_class n where n.relname = x.relname
                     and n.relnamespace = (select oid from pg_namespace where nspname = $2))
 order by x.relname`;

const missingStatistics = `
select format('create statistics %I%s on %s from %I', s.stxname,
              (select ' (' || string_agg(case k when 'd' then 'ndistinct' when 'f' then 'dependencies' else 'mcv' end, ', ') || ')'
                 from unnest(s.stxkind) k where k in ('d', 'f', 'm')),
              pg_get_statisticsobjdef_columns(s.oid), c.relname) as statement
  from pg_statistic_ext s join pg_class c on c.oid = s.stxrelid
 where c.relnamespace = (select oid from pg_namespace where nspname = $1)
   and exists (select from pg_class n where n.relname = c.relname
                  and n.relnamespace = (select oid from pg_namespace where nspname = $2))
   and not exists (select from pg_statistic_ext n where n.stxname = s.stxname
                     and n.stxnamespace = (select oid from pg_namespace where nspname = $2))
 order by s.stxname`;

/**
 * Builds missing indexes and statistics, and resolves to the statements that were run. Runs in the caller's
 * transaction.
 */
export async function createMissingObjects(client: ClientBase, from: string, to: string): Promise<readonly string[]> {
  const missingStatements = [
    ...(await statements(client, missingIndexes, from, to)),
    ...(await statements(client, missingStatistics, from, to)),
  ];
  await runInSchema(client, to, missingStatements);
  // The limited roles are those of the storage that will be replaced.
  await disableStatisticsIfLimited(client, from, to);
  return missingStatements;
}

/**
 * SQL: tables that were filled and that autovacuum has not analyzed yet. Without statistics, the first readers would
 * get plans for empty tables.
 */
const unknownSizes = `
select 'analyze ' || string_agg(format('%I', c.relname), ', ') as statement
  from pg_class c left join pg_stat_user_tables s on s.relid = c.oid
 where c.relnamespace = (select oid from pg_namespace where nspname = $2) and c.relkind = 'r'
   and (c.reltuples < 0 or s.n_mod_since_analyze > 0.2 * s.n_live_tup) and $1::text is not null
having count(*) > 0`;

/** Analyzes tables of the storage that have no statistics. Runs in the caller's transaction. */
export async function analyzeUnknownTables(client: ClientBase, from: string, to: string): Promise<void> {
  await runInSchema(client, to, await statements(client, unknownSizes, from, to));
}

// All other objects are only catalog entries, and are copied during the swap.

const granteeExpression = `case a.grantee when 0 then 'public' else quote_ident(pg_get_userbyid(a.grantee)) end`;
const option = `case when a.is_grantable then ' with grant option' else '' end`;

/** SQL: makes the owner of the stream the owner of its tables. */
const owners = `
with owner as (select c.relowner as oid, quote_ident(pg_get_userbyid(c.relowner)) as name from pg_class c
                where c.relname = 'stream' and c.relnamespace = (select oid from pg_namespace where nspname = $1))
select format('alter schema %I owner to %s', n.nspname, o.name) as statement
  from pg_namespace n, owner o where n.nspname = $2 and n.nspowner <> o.oid
union all
select format('alter table %I owner to %s', c.relname, o.name)
  from pg_class c, owner o
 where c.relnamespace = (select oid from pg_namespace where nspname = $2) and c.relkind in ('r', 'p', 'v')
   and c.relowner <> o.oid
union all
select format('alter routine %s owner to %s', p.oid::regprocedure, o.name)
  from pg_proc p, owner o
 where p.pronamespace = (select oid from pg_namespace where nspname = $2) and p.proowner <> o.oid`;

const grants = `
select format('grant %s on schema %I to %s%s', a.privilege_type, $2::text, ${granteeExpression}, ${option}) as statement
  from pg_namespace s cross join lateral aclexplode(s.nspacl) a where s.nspname = $1 and a.grantee <> s.nspowner
union all
select format('grant %s on %I to %s%s', a.privilege_type, o.relname, ${granteeExpression}, ${option})
  from (select o.relname, o.relacl, o.relowner from ${pairs} and o.relkind in ('r', 'p', 'v')) o
 cross join lateral aclexplode(o.relacl) a where a.grantee <> o.relowner
union all
select format('grant %s (%I) on %I to %s%s', a.privilege_type, c.attname, o.relname, ${granteeExpression}, ${option})
  from (select o.oid, o.relname, o.relowner, n.oid as after from ${pairs} and o.relkind in ('r', 'p', 'v')) o
  join pg_attribute c on c.attrelid = o.oid and not c.attisdropped and c.attacl is not null
  join pg_attribute d on d.attrelid = o.after and d.attname = c.attname
 cross join lateral aclexplode(c.attacl) a where a.grantee <> o.relowner
union all
select format('revoke execute on routine %I(%s) from public', p.proname, pg_get_function_identity_arguments(p.oid))
  from pg_proc p
 where p.pronamespace = (select oid from pg_namespace where nspname = $1)
   and not exists (select from aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a where a.grantee = 0)
   and exists (select from pg_proc n where n.proname = p.proname and n.proargtypes = p.proargtypes
                  and n.pronamespace = (select oid from pg_namespace where nspname = $2))
union all
select format('grant execute on routine %I(%s) to %s%s', p.proname, pg_get_function_identity_arguments(p.oid), ${granteeExpression}, ${option})
  from pg_proc p cross join lateral aclexplode(p.proacl) a
 where p.pronamespace = (select oid from pg_namespace where nspname = $1) and a.grantee <> p.proowner
   and exists (select from pg_proc n where n.proname = p.proname and n.proargtypes = p.proargtypes
                  and n.pronamespace = (select oid from pg_namespace where nspname = $2))
union all
select format('alter default privileges for role %I in schema %I grant %s on %s to %s%s', pg_get_userbyid(d.defaclrole),
              $2::text, a.privilege_type,
              case d.defaclobjtype when 'r' then 'tables' when 'S' then 'sequences' when 'f' then 'functions' else 'types' end,
              ${granteeExpression}, ${option})
  from pg_default_acl d cross join lateral aclexplode(d.defaclacl) a
 where d.defaclnamespace = (select oid from pg_namespace where nspname = $1)`;

const policies = `
select format('create policy %I on %I as %s for %s to %s%s%s', p.polname, o.relname,
              case when p.polpermissive then 'permissive' else 'restrictive' end,
              case p.polcmd when 'r' then 'select' when 'a' then 'insert' when 'w' then 'update' when 'd' then 'delete' else 'all' end,
              (select string_agg(case r when 0 then 'public' else quote_ident(pg_get_userbyid(r)) end, ', ') from unnest(p.polroles) r),
              ' using (' || pg_get_expr(p.polqual, p.polrelid) || ')',
              ' with check (' || pg_get_expr(p.polwithcheck, p.polrelid) || ')') as statement
  from (select o.oid, o.relname, n.oid as after from ${pairs}) o
  join pg_policy p on p.polrelid = o.oid
 where not exists (select from pg_policy q where q.polrelid = o.after and q.polname = p.polname)
union all
select format('alter table %I enable row level security', o.relname)
  from ${pairs} and o.relkind in ('r', 'p') and o.relrowsecurity and not n.relrowsecurity
union all
select format('alter table %I force row level security', o.relname)
  from ${pairs} and o.relkind in ('r', 'p') and o.relforcerowsecurity and not n.relforcerowsecurity`;

const triggers = `
select pg_get_triggerdef(g.oid, true) as statement
  from (select o.oid, n.oid as after from ${pairs}) o
  join pg_trigger g on g.tgrelid = o.oid and not g.tgisinternal
 where not exists (select from pg_trigger h where h.tgrelid = o.after and h.tgname = g.tgname)`;

const settings = `
select format('alter table %I set (%s)', o.relname, array_to_string(o.reloptions, ', ')) as statement
  from ${pairs} and o.relkind in ('r', 'p') and o.reloptions is not null and o.reloptions is distinct from n.reloptions
union all
select format('alter table %I replica identity full', o.relname)
  from ${pairs} and o.relkind in ('r', 'p') and o.relreplident = 'f' and n.relreplident <> 'f'
union all
select format('alter table %I alter column %I set statistics %s', o.relname, c.attname, c.attstattarget)
  from (select o.oid, o.relname, n.oid as after from ${pairs} and o.relkind in ('r', 'p')) o
  join pg_attribute c on c.attrelid = o.oid and c.attnum > 0 and not c.attisdropped and c.attstattarget >= 0
  join pg_attribute d on d.attrelid = o.after and d.attname = c.attname`;

/**
 * SQL: comments that differ between the storages. This program writes the same comments on both storages, so different
 * comments were added by operators or readers.
 */
const comments = `
select format('comment on %s %I is %L',
              case o.relkind when 'v' then 'view' when 'i' then 'index' else 'table' end, o.relname, d.description) as statement
  from (select o.oid, o.relname, o.relkind, n.oid as after from ${pairs}) o
  join pg_description d on d.classoid = 'pg_class'::regclass and d.objoid = o.oid and d.objsubid = 0
 where d.description is distinct from obj_description(o.after, 'pg_class')
union all
select format('comment on column %I.%I is %L', o.relname, c.attname, d.description)
  from (select o.oid, o.relname, n.oid as after from ${pairs} and o.relkind in ('r', 'p', 'v')) o
  join pg_description d on d.classoid = 'pg_class'::regclass and d.objoid = o.oid and d.objsubid > 0
  join pg_attribute c on c.attrelid = o.oid and c.attnum = d.objsubid
  join pg_attribute e on e.attrelid = o.after and e.attname = c.attname
 where d.description is distinct from col_description(o.after, e.attnum)
union all
select format('comment on schema %I is %L', $2::text, obj_description(s.oid, 'pg_namespace'))
  from pg_namespace s where s.nspname = $1`;

/** SQL: tables that were published individually, with their options. */
const publishedTables = `
select format('alter publication %I drop table %I.%I', p.pubname, $1::text, o.relname) as statement
  from (select o.oid, o.relname from ${pairs}) o
  join pg_publication_rel r on r.prrelid = o.oid join pg_publication p on p.oid = r.prpubid
union all
select format('alter publication %I add table %I.%I%s%s', p.pubname, $2::text, o.relname,
              case when cardinality(array(select jsonb_array_elements_text(t.shown -> 'attnames'))) < o.columns
                   then (select ' (' || string_agg(quote_ident(c), ', ') || ')' from jsonb_array_elements_text(t.shown -> 'attnames') c) end,
              ' where (' || (t.shown ->> 'rowfilter') || ')')
  from (select o.oid, o.relname, (select count(*) from pg_attribute c where c.attrelid = o.oid and c.attnum > 0
                                     and not c.attisdropped) as columns from ${pairs}) o
  join pg_publication_rel r on r.prrelid = o.oid join pg_publication p on p.oid = r.prpubid
  cross join lateral (select to_jsonb(t) as shown from pg_publication_tables t
                       where t.pubname = p.pubname and t.schemaname = $1 and t.tablename = o.relname) t`;

/**
 * SQL: publications of all tables of the schema, which exist since Postgres 15. Only an administrator of the server may
 * create them.
 */
const publishedSchemas = `
select format('alter publication %I drop tables in schema %I', p.pubname, $1::text) as statement
  from pg_publication_namespace n join pg_publication p on p.oid = n.pnpubid
 where n.pnnspid = (select oid from pg_namespace where nspname = $1)
union all
select format('alter publication %I add tables in schema %I', p.pubname, $2::text)
  from pg_publication_namespace n join pg_publication p on p.oid = n.pnpubid
 where n.pnnspid = (select oid from pg_namespace where nspname = $1)`;

/** Creates the objects of `from` on the storage `to`. Runs in the caller's transaction, in which both are locked. */
export async function copyDependentObjects(client: ClientBase, from: string, to: string): Promise<void> {
  const { rows } = await client.query<{ there: boolean }>(
    `select to_regclass('pg_catalog.pg_publication_namespace') is not null as there`,
  );
  const schemaQueries = rows[0]?.there === true ? [publishedSchemas] : [];
  for (const text of [owners, settings, grants, policies, triggers, comments, publishedTables, ...schemaQueries]) {
    await runInSchema(client, to, await statements(client, text, from, to));
  }
}

/**
 * SQL: objects in the schema of the storage that this program did not create. They are moved to the schema with the
 * same name, so that their qualified names do not change.
 */
const ownObjectsQuery = `
select format('alter %s %I.%I set schema %I', case o.relkind when 'v' then 'view' when 'm' then 'materialized view'
                when 'S' then 'sequence' when 'f' then 'foreign table' else 'table' end, $1::text, o.relname, $2::text) as statement
  from pg_class o
 where o.relnamespace = (select oid from pg_namespace where nspname = $1) and o.relkind in ('r', 'p', 'v', 'm', 'S', 'f')
   and not exists (select from pg_class n where n.relname = o.relname
                     and n.relnamespace = (select oid from pg_namespace where nspname = $2))
   and not exists (select from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = o.oid
                     and d.refclassid = 'pg_class'::regclass and d.deptype in ('a', 'i'))
union all
select format('alter routine %I.%I(%s) set schema %I', $1::text, p.proname, pg_get_function_identity_arguments(p.oid), $2::text)
  from pg_proc p
 where p.pronamespace = (select oid from pg_namespace where nspname = $1)
   and not exists (select from pg_proc n where n.proname = p.proname and n.proargtypes = p.proargtypes
                     and n.pronamespace = (select oid from pg_namespace where nspname = $2))
union all
select format('alter type %I.%I set schema %I', $1::text, t.typname, $2::text)
  from pg_type t left join pg_class c on c.oid = t.typrelid
 where t.typnamespace = (select oid from pg_namespace where nspname = $1)
   and (t.typtype in ('e', 'd', 'r') or c.relkind = 'c')
   and not exists (select from pg_type n where n.typname = t.typname
                     and n.typnamespace = (select oid from pg_namespace where nspname = $2))`;

/** Moves objects that this program did not create from the schema `from` to the schema `to`. */
export async function moveOwnObjects(client: ClientBase, from: string, to: string): Promise<void> {
  await runInSchema(client, to, await statements(client, ownObjectsQuery, from, to));
}

/** Changes the search path of the functions in a schema whose previous name was `was`. */
export async function pointFunctions(client: ClientBase, schema: string, previousSchema: string): Promise<void> {
  const { rows } = await client.query<{ called: string; path: string }>(
    `select format('%I.%I(%s)', n.nspname, p.proname, pg_get_function_identity_arguments(p.oid)) as called,
            substring(c from '^search_path=(.*)$') as path
       from pg_proc p join pg_namespace n on n.oid = p.pronamespace cross join lateral unnest(p.proconfig) c
      where n.nspname = $1 and c like 'search\\_path=%'`,
    [schema],
  );
  for (const { called: functionSignature, path } of rows) {
    const names = path
      .split(', ')
      .map((name) => (unquoteName(name) === previousSchema ? escapeIdentifier(schema) : name));
    await client.query(`alter routine ${functionSignature} set search_path to ${names.join(', ')}`);
  }
}

function unquoteName(name: string): string {
  return name.startsWith('"') ? name.slice(1, -1).replaceAll('""', '"') : name;
}
