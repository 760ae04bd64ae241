/** The generated views as people ask for them. */
import type { Database } from '../connection/database.ts';
import { readSchemas } from '../connection/read-schemas.ts';
import type { ViewKind } from './subjects.ts';

export interface ListedView {
  /** With its schema, as it is written in SQL. */
  readonly view: string;
  readonly kind: ViewKind;
  readonly packageName: string;
  /** Module and entity, and the choice. */
  readonly shows: string;
  /** Versions of the package that were read, oldest first. */
  readonly versions: readonly string[];
  /** Columns made from fields, in order. */
  readonly columns: readonly string[];
}

/** Every registered view by name; that of a template stands for its `__history` too. */
export async function listTypedViews(database: Database): Promise<readonly ListedView[]> {
  const { typed } = readSchemas(database.schema);
  const { rows } = await database.withClient((client) =>
    client.query<ListedView>(
      `select quote_ident($1) || '.' || quote_ident(v.view_name) as view, v.kind, v.package_name as "packageName",
              concat_ws(':', v.module_name, v.entity_name, nullif(v.choice, '')) as shows,
              array(select p.package_version from packages p where p.package_name = v.package_name
                     group by 1 order by string_to_array(p.package_version, '.')::numeric[]) as versions,
              array(select c.column_name from typed_columns c where c.view_name = v.view_name order by c.position) as columns
         from typed_views v
        order by v.view_name`,
      [typed],
    ),
  );
  return rows;
}
