/**
 * Stores packages that were read from the participant and their omitted fields. Also lists packages that occur in
 * stored events but have not been read yet.
 */
import type { ClientBase } from 'pg';
import type { PackageLookup, PackageModel } from '../../daml/package-model.ts';
import type { PackageState } from '../../model/stream.ts';
import type { Database } from '../connection/database.ts';
import { tablesOf } from '../connection/query-builder.ts';
import type { Tables } from '../connection/tables.ts';
import { type OmittedFields, omittedFieldsOf, omittedFieldsOfType } from '../../daml/optional-fields.ts';

/** Stores a package. A stored package does not change, because its id is the hash of its content. */
export async function storePackage(database: Database, model: PackageModel): Promise<void> {
  await database.withClient((client) =>
    tablesOf(client)
      .insertInto('packages')
      .values({
        package_id: model.packageId,
        package_name: model.name,
        package_version: model.version,
        language_version: model.languageVersion,
        model: JSON.stringify(model),
      })
      .onConflict((onConflict) => onConflict.column('package_id').doNothing())
      .execute(),
  );
}

/** All stored packages with their complete models. They have megabytes if the participant has many packages. */
export async function readPackages(database: Database): Promise<readonly PackageModel[]> {
  const rows = await database.withClient((client) =>
    tablesOf(client).selectFrom('packages').select('model').orderBy('package_id').execute(),
  );
  return rows.map(({ model }) => model as PackageModel);
}

/** Updates the omitted fields of all known templates from the packages. */
export async function refreshOmittedFields(database: Database, packages: PackageLookup): Promise<void> {
  await database.transaction((client) => storeOmittedFields(client, packages));
}

/** Reads two small tables, so it is fast. */
export async function readPackageState(database: Database): Promise<PackageState> {
  const rows = await database.withClient((client) =>
    tablesOf(client)
      .selectFrom('templates as t')
      .leftJoin('packages as p', 'p.package_id', 't.package_id')
      .select(({ fn }) => ['t.package_id', 'p.package_name as name', fn.countAll<number>().as('templates')])
      .groupBy(['t.package_id', 'p.package_name'])
      .orderBy(({ fn }) => fn.min('t.template_pk'))
      .execute(),
  );
  const namedPackages = new Set(rows.flatMap(({ name }) => (name === null ? [] : [name])));
  return {
    missing: rows.filter(({ name }) => name === null).map((row) => row.package_id),
    named: [...namedPackages].sort(),
    templates: rows.reduce((sum, row) => sum + row.templates, 0),
  };
}

// The omitted fields of templates and interface views. The ledger omits trailing fields that are None. Readers of
// schema `pqs` expect explicit nulls for these fields.

/**
 * Computes the omitted fields of all templates and interfaces of the dictionary, and stores those that changed. Returns
 * the number of rows written. Call it after packages were stored. It may be repeated. The search path must be the
 * schema of the stream.
 */
export async function storeOmittedFields(client: ClientBase, packages: PackageLookup): Promise<number> {
  const rows = await tablesOf(client)
    .selectFrom('templates')
    .select(['template_pk', 'package_id', 'module_name', 'entity_name'])
    .orderBy('template_pk')
    .execute();
  const entityFields = rows.flatMap((row) => {
    const fields = omittedFieldsOfEntity(row, packages);
    return fields === undefined ? [] : [{ template_pk: row.template_pk, fields }];
  });
  const { rowCount } = await client.query(
    `insert into omitted_fields select template_pk, fields from jsonb_to_recordset($1) f (template_pk integer, fields jsonb)
     on conflict (template_pk) do update set fields = excluded.fields where omitted_fields.fields <> excluded.fields`,
    [JSON.stringify(entityFields)],
  );
  return rowCount ?? 0;
}

type TemplateRow = Pick<Tables['templates'], 'package_id' | 'module_name' | 'entity_name'>;

/**
 * The omitted fields of a template are those of its payload, and the omitted fields of an interface are those of its
 * view. Undefined if no field can be omitted.
 */
function omittedFieldsOfEntity(row: TemplateRow, packages: PackageLookup): OmittedFields | undefined {
  const contract = packages(row.package_id)?.interfaces.find(
    ({ moduleName, entityName }) => moduleName === row.module_name && entityName === row.entity_name,
  );
  if (contract !== undefined) return omittedFieldsOfType(contract.view, packages);
  return omittedFieldsOf(`${row.package_id}:${row.module_name}:${row.entity_name}`, packages);
}
