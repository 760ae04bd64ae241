/**
 * The paddings of templates and interface views, as readers under the names of PQS want them: they look for explicit nulls
 * where the ledger leaves out trailing fields that are None.
 */
import type { ClientBase } from 'pg';
import { paddingOf, paddingOfType, type Padding } from '../../daml/optional-fields.ts';
import type { PackageLookup } from '../../daml/package-lookup.ts';

interface TemplateRow {
  readonly template_pk: number;
  readonly package_id: string;
  readonly module_name: string;
  readonly entity_name: string;
}

/**
 * Computes the paddings of all templates and interfaces of the dictionary and stores those that changed; gives back how
 * many rows it wrote. To be called after packages were stored; safe to repeat. Search path is the schema of the stream.
 */
export async function storePaddings(client: ClientBase, packages: PackageLookup): Promise<number> {
  const { rows } = await client.query<TemplateRow>(
    'select template_pk, package_id, module_name, entity_name from templates order by template_pk',
  );
  const found = rows.flatMap((row) => {
    const padding = paddingOfEntity(row, packages);
    return padding === undefined ? [] : [{ template_pk: row.template_pk, padding }];
  });
  const { rowCount } = await client.query(
    `insert into paddings select template_pk, padding from jsonb_to_recordset($1) f (template_pk integer, padding jsonb)
     on conflict (template_pk) do update set padding = excluded.padding where paddings.padding <> excluded.padding`,
    [JSON.stringify(found)],
  );
  return rowCount ?? 0;
}

/** Of an interface the padding of its view, of a template that of its payload; undefined when nothing can be missing. */
function paddingOfEntity(row: TemplateRow, packages: PackageLookup): Padding | undefined {
  const contract = packages(row.package_id)?.interfaces.find(
    ({ moduleName, entityName }) => moduleName === row.module_name && entityName === row.entity_name,
  );
  if (contract !== undefined) return paddingOfType(contract.view, packages);
  return paddingOf(`${row.package_id}:${row.module_name}:${row.entity_name}`, packages);
}
