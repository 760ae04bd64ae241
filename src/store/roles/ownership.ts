/** Hands everything in the schemas of a stream to one owner: tables, views, functions, types, and the statistics objects on tables. */
import { escapeIdentifier } from 'pg';
import type { ClientBase } from 'pg';
import type { ReadSchemas } from '../connection/read-schemas.ts';

/** Tables before views: a view may not be without rights on its tables. Names come quoted from the server. */
const strangers = `
with schemas as (select oid, nspname, nspowner from pg_namespace where nspname = any ($1)),
     target as (select coalesce((select oid from pg_roles where rolname = $2), 0::oid) as oid)
select 1 as step, format('schema %I', nspname) as object from schemas, target where nspowner <> target.oid
union all
select case when c.relkind = 'v' then 3 else 2 end,
       format('%s %I.%I', case c.relkind when 'v' then 'view' when 'm' then 'materialized view'
                          when 'S' then 'sequence' else 'table' end, s.nspname, c.relname)
  from pg_class c join schemas s on s.oid = c.relnamespace, target
 where c.relkind in ('r', 'p', 'v', 'm', 'S') and c.relowner <> target.oid
union all
select 4, format('%s %s', case p.prokind when 'p' then 'procedure' when 'a' then 'aggregate' else 'function' end,
                 p.oid::regprocedure)
  from pg_proc p join schemas s on s.oid = p.pronamespace, target where p.proowner <> target.oid
union all
select 5, format('statistics %I.%I', s.nspname, x.stxname)
  from pg_statistic_ext x join schemas s on s.oid = x.stxnamespace, target where x.stxowner <> target.oid
union all
select 6, format('type %I.%I', s.nspname, t.typname)
  from pg_type t join pg_class c on c.oid = t.typrelid join schemas s on s.oid = t.typnamespace, target
 where c.relkind = 'c' and t.typowner <> target.oid
order by 1, 2`;

/** The statements that give to `owner` what it does not own yet. */
export async function ownershipStatements(
  client: ClientBase,
  schemas: ReadSchemas,
  owner: string,
): Promise<readonly string[]> {
  const { rows } = await client.query<{ object: string }>(strangers, [Object.values(schemas), owner]);
  return rows.map(({ object }) => `alter ${object} owner to ${escapeIdentifier(owner)}`);
}
