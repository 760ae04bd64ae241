/**
 * Views of projections that users added, with their columns and keys. The catalog has everything, because a reader
 * limited to parties may not read the table of projections.
 */
import type { ClientBase } from 'pg';
import { derivedSchema } from '../connection/read-schemas.ts';

interface DerivedColumn {
  readonly name: string;
  /** Type as Postgres formats it. */
  readonly type: string;
}

/** Columns and keys of the view. Its relations follow from them. */
export interface DerivedShape {
  readonly columns: readonly DerivedColumn[];
  /** Columns of the unique index of each version of the stored rows, without repetitions; empty if there is none. */
  readonly keys: readonly (readonly string[])[];
}

export interface DerivedView {
  readonly schema: string;
  readonly name: string;
  readonly columns: readonly string[];
  readonly derived: DerivedShape;
}

/**
 * The views that the role may read. The key of a view is the unique index of its stored rows, if all versions that the
 * view returns have it.
 */
export async function readDerivedViews(client: ClientBase, storage: string): Promise<readonly DerivedView[]> {
  const schema = derivedSchema(storage);
  const { rows } = await client.query<{ name: string; columns: readonly DerivedColumn[]; keys: readonly string[][] }>(
    `select c.relname::text as name,
            (select json_agg(json_build_object('name', a.attname, 'type', format_type(a.atttypid, null)) order by a.attnum)
               from pg_attribute a where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped) as columns,
            v.keys
       from pg_class c
      cross join lateral (
              select count(*) as versions, json_agg(distinct coalesce(k.key, '[]')::jsonb) as keys
                from pg_class t
                left join lateral (
                       select json_agg(a.attname order by i.nth) as key
                         from pg_index x
                        cross join unnest(x.indkey::int2[]) with ordinality i (number, nth)
                         join pg_attribute a on a.attrelid = x.indrelid and a.attnum = i.number
                        where x.indrelid = t.oid and x.indisunique) k on true
               where t.relnamespace = c.relnamespace and t.relkind = 'r'
                 and left(t.relname, length(c.relname) + 1) = c.relname || '$') v
      where c.relnamespace = to_regnamespace($1) and c.relkind = 'v' and v.versions > 0
        and has_table_privilege(c.oid, 'select')
      order by c.relname collate "C"`,
    [`"${schema.replaceAll('"', '""')}"`],
  );
  return rows.map(({ name, columns, keys }) => ({
    schema,
    name,
    columns: columns.map((column) => column.name),
    derived: { columns, keys },
  }));
}

/** Names of the views that the role may not read. */
export async function readHiddenViews(client: ClientBase, storage: string): Promise<readonly string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select c.relname::text as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = $1 and c.relkind = 'v' and not has_table_privilege(c.oid, 'select')
      order by c.relname collate "C"`,
    [derivedSchema(storage)],
  );
  return rows.map(({ name }) => name);
}
