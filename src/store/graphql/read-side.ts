/** Reads the catalog to find the views and functions for readers, because typed views differ between ledgers. */
import type { ClientBase } from 'pg';
import { freeName } from '../../daml/identifiers.ts';
import { historySuffix } from '../../daml/view-names.ts';
import type { Database } from '../connection/database.ts';
import { tablesOf } from '../connection/query-builder.ts';
import { derivedSchema, readSchemas, type ReadSchemas } from '../connection/read-schemas.ts';
import type { ViewKind } from '../typed/subjects.ts';
import { type DerivedShape, readDerivedViews, readHiddenViews } from './derived-views.ts';

export interface ReadView {
  readonly schema: string;
  readonly name: string;
  readonly kind: 'explore' | 'derived' | 'history' | ViewKind;
  readonly columns: readonly string[];
  /**
   * Name that a column common to all views of the kind has in this view. Columns that were created from fields keep their
   * names even if a common column has the same name.
   */
  readonly columnOf: (name: string) => string;
  /** Columns and keys of a projection that a user added. */
  readonly derived?: DerivedShape;
}

/** All functions of one name in schema explore (overloads). */
export interface ReadFunction {
  readonly name: string;
  /** Number of functions of this name. */
  readonly overloads: number;
  /**
   * The view whose rows the function returns. It is null if the function returns other rows, or if the overloads
   * differ.
   */
  readonly returns: string | null;
}

export interface ReadSide {
  readonly schemas: ReadSchemas;
  /** Ordered by schema and name, those of users last, so that the order is always the same. */
  readonly views: readonly ReadView[];
  readonly functions: readonly ReadFunction[];
  readonly derivedSchema: string;
  /** Names of views of schema `derived` that the role may not read. */
  readonly hidden: readonly string[];
}

export async function readReadSide(database: Database): Promise<ReadSide> {
  const schemas = readSchemas(database.schema);
  return database.withClient(async (client) => {
    const derivedViews = await readDerivedViews(client, database.schema);
    return {
      schemas,
      views: [
        ...(await readViews(client, schemas)),
        ...derivedViews.map((view): ReadView => ({ ...view, kind: 'derived', columnOf: sameName })),
      ],
      functions: await readGraphFunctions(client, schemas.explore),
      derivedSchema: derivedSchema(database.schema),
      hidden: await readHiddenViews(client, database.schema),
    };
  });
}

async function readViews(
  client: ClientBase,
  { explore, typed: typedSchema }: ReadSchemas,
): Promise<readonly ReadView[]> {
  const typedViews = await tablesOf(client).selectFrom('typed_views').select(['view_name', 'kind']).execute();
  const kinds = new Map(typedViews.map(({ view_name: name, kind }) => [name, kind]));
  const typedColumns = await tablesOf(client)
    .selectFrom('typed_columns')
    .select(['view_name', 'column_name'])
    .execute();
  const { rows } = await client.query<{ schema: string; name: string; columns: readonly string[] }>(
    `select n.nspname::text as schema, c.relname::text as name,
            array(select a.attname::text from pg_attribute a where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
                   order by a.attnum) as columns
       from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname in ($1, $2) and c.relkind = 'v'
      order by n.nspname collate "C", c.relname collate "C"`,
    [explore, typedSchema],
  );
  return rows.flatMap(({ schema, name, columns }): readonly ReadView[] => {
    if (schema === explore) return [{ schema, name, columns, kind: 'explore', columnOf: sameName }];
    const base = kinds.has(name) ? name : name.slice(0, -historySuffix.length);
    const kind = kinds.get(base);
    // The view was not created by this indexer.
    if (kind === undefined) return [];
    const fields = new Set(
      typedColumns.filter((column) => column.view_name === base).map((column) => column.column_name),
    );
    return [
      { schema, name, columns, kind: base === name ? kind : 'history', columnOf: (common) => freeName(common, fields) },
    ];
  });
}

async function readGraphFunctions(client: ClientBase, explore: string): Promise<readonly ReadFunction[]> {
  const { rows } = await client.query<ReadFunction>(
    `select p.proname::text as name, count(*)::int as overloads,
            case when count(distinct p.prorettype) = 1 and bool_and(p.proretset) then min(c.relname::text) end as returns
       from pg_proc p
       join pg_type t on t.oid = p.prorettype
       left join pg_class c on c.oid = t.typrelid and c.relkind = 'v' and c.relnamespace = p.pronamespace
      where p.pronamespace = (select oid from pg_namespace where nspname = $1)
      group by p.proname
      order by p.proname collate "C"`,
    [explore],
  );
  return rows;
}

function sameName(name: string): string {
  return name;
}
