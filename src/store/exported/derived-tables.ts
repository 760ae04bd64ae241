/**
 * Projections that users added, as tables for other programs. Only stored rows are read, because a SELECT of a user must
 * not run with the rights of the program. So a program reads a range up to the offset to which its rows are stored.
 */
import type { ClientBase } from 'pg';
import { escapeIdentifier } from 'pg';
import { IndexerError } from '../../errors/indexer-error.ts';
import { derivedName, derivedSchema, readSchemas, versionName } from '../connection/read-schemas.ts';
import type { ReadProjection } from './reads.ts';
import { withinRange, type StoredTable } from './stored-tables.ts';

/** Types that other programs get as a larger one. */
const largerTypes: ReadonlyMap<string, string> = new Map([
  ['smallint', 'integer'],
  ['real', 'double precision'],
]);

/** The projections whose names (`derived.NAME`) `isRequested` accepts. */
export async function derivedTables(
  client: ClientBase,
  storage: string,
  isRequested: (name: string) => boolean,
): Promise<readonly StoredTable[]> {
  const { rows: names } = await client.query<{ view: string }>(
    'select distinct name as view from user_projections order by name',
  );
  const views = names.map(({ view }) => view).filter((view) => isRequested(`derived.${view}`));
  if (views.length === 0) return [];
  const { rows } = await client.query<ReadVersion>(versionsQuery, [
    views,
    derivedSchema(storage),
    readSchemas(storage).explore,
  ]);
  return rows.map((version) => tableOf(storage, version));
}

interface ReadVersion {
  readonly view: string;
  readonly generation: number;
  readonly key: readonly string[];
  /** Null if the table of the version is missing. */
  readonly columns: readonly { readonly name: string; readonly type: string }[] | null;
  readonly projection: ReadProjection;
}

function tableOf(storage: string, { view, generation, key, columns, projection }: ReadVersion): StoredTable {
  if (columns === null) {
    throw new IndexerError(`projection ${view} has no table in this database`, {
      code: 'EXPORT_REFUSED',
      remedy: `create it: ledger-indexer projection refill ${view}`,
    });
  }
  const list = columns.map(({ name, type }) => {
    const column = `v.${escapeIdentifier(name)}`;
    const larger = largerTypes.get(type);
    return larger === undefined ? column : `${column}::${larger} as ${escapeIdentifier(name)}`;
  });
  return {
    name: `derived.${view}`,
    offset: 'offset',
    order: ['offset', ...key.filter((name) => name !== 'offset')],
    projection,
    sql: `select ${list.join(', ')} from ${derivedName(storage, versionName(view, generation))} v
           where ${withinRange('v."offset"')}`,
  };
}

/** SQL: a multirange as JSON, with both ends included. */
const rangesOf = (multirange: string): string =>
  `coalesce((select json_agg(json_build_object('from', coalesce(lower(r.part), 0), 'to', upper(r.part) - 1) order by r.part)
               from unnest(${multirange}) r (part)), '[]')`;

/** SQL: the version whose rows readers use; the newest one if none is complete. */
const versionsQuery = `
  select distinct on (u.name) u.name as view, u.generation, u.key_columns as key,
         (select json_agg(json_build_object('name', a.attname, 'type', format_type(a.atttypid, null)) order by a.attnum)
            from pg_class c join pg_namespace n on n.oid = c.relnamespace
            join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
           where n.nspname = $2 and c.relname = u.name || '$' || u.generation) as columns,
         json_build_object(
           'version', md5(concat_ws(' ', u.select_hash, u.added_at, p.listed_at)),
           'views', md5(coalesce((select obj_description(n.oid, 'pg_namespace') from pg_namespace n where n.nspname = $3), '')),
           'stored', ${rangesOf('p.covered - noted_offsets(false, p.looks_up)')},
           'noted', ${rangesOf(`dependent_offsets(coalesce((select range_agg(c.offsets) from projection_changes c where not c.is_pruned), '{}'),
                                                   false, p.looks_up)`)},
           'changes', coalesce((
              select json_agg(json_build_object('number', h.change_number,
                                                'ranges', ${rangesOf('dependent_offsets(h.offsets, false, u.looks_up)')})
                              order by h.change_number)
                from history_changes h), '[]')) as projection
    from user_projections u
    left join projections p on p.view_name = u.name and p.generation = u.generation
   where u.name = any ($1)
   order by u.name, coalesce(p.is_filled, false) desc, u.generation desc`;
