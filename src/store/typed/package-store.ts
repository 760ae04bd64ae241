/** The packages that were read from the participant, and those that the stored events name but nobody has read yet. */
import type { PackageModel } from '../../daml/package-model.ts';
import type { PackageLookup } from '../../daml/package-lookup.ts';
import type { PackageState } from '../../model/stream.ts';
import type { Database } from '../connection/database.ts';
import { storePaddings } from './padding-store.ts';

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
