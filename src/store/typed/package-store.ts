/** Packages that were read from the participant, those that stored events name but nobody has read yet, and their paddings. */
import type { PackageModel } from '../../daml/package-model.ts';
import type { PackageLookup } from '../../daml/type-walk.ts';
import type { PackageState } from '../../model/stream.ts';
import type { Database } from '../connection/database.ts';
import type { ClientBase } from 'pg';
import { type Padding, paddingOf, paddingOfType } from '../../daml/optional-fields.ts';

/** Stores a package that was read; one that is there already stays as it is, for its id is the hash of its content. */
export async function storePackage(database: Database, model: PackageModel): Promise<void> {
  await database.withClient((client) =>
    client.query(
      `insert into packages (package_id, package_name, package_version, language_version, model)
       values ($1, $2, $3, $4, $5) on conflict (package_id) do nothing`,
      [model.packageId, model.name, model.version, model.languageVersion, JSON.stringify(model)],
    ),
  );
}

/** Every stored package, whole: megabytes where a participant has many. */
export async function readPackages(database: Database): Promise<readonly PackageModel[]> {
  const { rows } = await database.withClient((client) =>
    client.query<{ model: PackageModel }>('select model from packages order by package_id'),
  );
  return rows.map(({ model }) => model);
}

/** Makes the paddings of all templates known now what the packages say. */
export async function refreshPaddings(database: Database, packages: PackageLookup): Promise<void> {
  await database.transaction((client) => storePaddings(client, packages));
}

/** Cheap: two small tables. */
export async function readPackageState(database: Database): Promise<PackageState> {
  const { rows } = await database.withClient((client) =>
    client.query<{ package_id: string; name: string | null; templates: number }>(
      `select t.package_id, p.package_name as name, count(*)::integer as templates
         from templates t left join packages p on p.package_id = t.package_id
        group by 1, 2 order by min(t.template_pk)`,
    ),
  );
  const named = new Set(rows.flatMap(({ name }) => (name === null ? [] : [name])));
  return {
    missing: rows.filter(({ name }) => name === null).map((row) => row.package_id),
    named: [...named].sort(),
    templates: rows.reduce((sum, row) => sum + row.templates, 0),
  };
}

// The paddings of templates and interface views, as readers under the names of PQS want them: they look for explicit nulls
// where the ledger leaves out trailing fields that are None.

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
