/**
 * Finds and moves objects outside a storage that depend on its tables and functions: views, functions, and objects that
 * a rename does not change. If the schema of the tables is in the search path, Postgres prints a view without the
 * schema name. If the same text is run with another storage in the search path, it creates the same view over that
 * storage.
 */
import { escapeIdentifier } from 'pg';
import type { ClientBase } from 'pg';
import { toStoreError } from '../connection/store-error.ts';
import { rebuildRefusedError } from './stream-schemas.ts';

interface Dependent {
  readonly catalog: 'pg_proc' | 'pg_rewrite' | 'other';
  readonly oid: string;
  /** Name as the server formats it, for messages. */
  readonly name: string;
  /**
   * A view can be replaced by a role with the rights of its owner. `fixed` objects, such as materialized views, cannot
   * be replaced.
   */
  readonly kind: 'view' | 'function' | 'fixed';
}

/** Kinds of dependencies that objects.ts handles: publications. */
const ignoredClasses = ['publication relation', 'publication namespace'];

/** All objects outside the schema that depend on an object in it. */
async function dependentsOf(client: ClientBase, storage: string): Promise<readonly Dependent[]> {
  const { rows } = await client.query<Dependent>(
    `with storage as (select oid from pg_namespace where nspname = $1),
          parts as (
            select 'pg_class'::regclass as class, c.oid from pg_class c, storage where c.relnamespace = storage.oid
            union all
            select 'pg_proc'::regclass, p.oid from pg_proc p, storage where p.pronamespace = storage.oid
            union all
            select 'pg_type'::regclass, t.oid from pg_type t, storage where t.typnamespace = storage.oid),
          found as (
            select distinct d.classid, d.objid
              from parts p join pg_depend d on d.refclassid = p.class and d.refobjid = p.oid
             where d.deptype in ('n', 'a'))
     select case f.classid when 'pg_proc'::regclass then 'pg_proc' when 'pg_rewrite'::regclass then 'pg_rewrite'
                           else 'other' end as catalog,
            coalesce(r.ev_class, f.objid)::text as oid,
            coalesce(v.oid::regclass::text, o.identity) as name,
            case when not pg_has_role(coalesce(v.relowner, p.proowner), 'usage') then 'fixed'
                 when v.relkind = 'v' then 'view' when f.classid = 'pg_proc'::regclass then 'function'
                 else 'fixed' end as kind
       from found f
      cross join lateral pg_identify_object_as_address(f.classid, f.objid, 0) a
      cross join lateral pg_identify_object(f.classid, f.objid, 0) o
       left join pg_rewrite r on f.classid = 'pg_rewrite'::regclass and r.oid = f.objid
       left join pg_class v on v.oid = r.ev_class
       left join pg_proc p on f.classid = 'pg_proc'::regclass and p.oid = f.objid
      where a.type <> all ($2)
        and case a.type when 'type' then split_part(a.object_names[1], '.', 1) else a.object_names[1] end
            is distinct from $1
      order by 3`,
    [storage, ignoredClasses],
  );
  return rows;
}

/** Names of objects that would continue to read the previous storage, because Postgres cannot replace them. */
export async function fixedDependents(client: ClientBase, storage: string): Promise<readonly string[]> {
  return (await dependentsOf(client, storage)).filter(({ kind }) => kind === 'fixed').map(({ name }) => name);
}

/** Names of all objects outside the schema that depend on it. */
export async function allDependents(client: ClientBase, storage: string): Promise<readonly string[]> {
  return (await dependentsOf(client, storage)).map(({ name }) => name);
}

/**
 * Replaces views and functions that still depend on `from` with identical ones over `to`. Their OIDs do not change.
 * Runs in the caller's transaction.
 * @throws IndexerError REBUILD_REFUSED with the names of objects that cannot be replaced
 */
export async function moveDependents(client: ClientBase, from: string, to: string): Promise<readonly string[]> {
  const movedObjects: string[] = [];
  for (const { oid, name, kind } of await dependentsOf(client, from)) {
    if (kind === 'fixed') throw cannotMoveError(name);
    await searchIn(client, from);
    const { rows } = await client.query<{ text: string }>(kind === 'view' ? viewText : functionText, [oid]);
    await searchIn(client, to);
    try {
      await client.query(rows[0]?.text ?? '');
    } catch (thrown) {
      const error = toStoreError(thrown);
      if (error.code !== 'STORE_SCHEMA_MISMATCH' && error.code !== 'STORE_FAILED') throw error;
      throw cannotMoveError(name);
    }
    movedObjects.push(name);
  }
  await searchIn(client, to);
  return movedObjects;
}

const viewText = `
select format('create or replace view %I.%I%s as %s', n.nspname, c.relname,
              coalesce(' with (' || array_to_string(c.reloptions, ', ') || ')', ''), pg_get_viewdef(c.oid)) as text
  from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.oid = $1::oid`;

const functionText = 'select pg_get_functiondef($1::oid) as text';

/** Makes unqualified names refer to this schema, in statements and in text that the server prints. */
export async function searchIn(client: ClientBase, schema: string): Promise<void> {
  await client.query(`set local search_path to ${escapeIdentifier(schema)}`);
}

export function cannotMoveError(name: string): Error {
  return rebuildRefusedError(
    `${name} depends on tables of the storage, and cannot be replaced automatically by one over the new tables`,
    'drop it and create it again after the swap; objects that depend on explore, typed and pqs stay',
  );
}
