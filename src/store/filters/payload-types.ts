/**
 * Types of the contents of events, from the stored packages: payloads of a template, views of an interface, and arguments
 * and results of choices.
 */
import { escapeIdentifier, type ClientBase } from 'pg';
import type { ChoiceModel, DamlType, InterfaceModel, PackageModel, TemplateModel } from '../../daml/package-model.ts';

/** A template or interface in one version of its package. */
interface Definition {
  readonly model: PackageModel;
  readonly template: TemplateModel | undefined;
  readonly contract: InterfaceModel | undefined;
}

/** Types of the contents of events of a template or interface. Lists are empty if no package that defines them is stored. */
export interface EventTypes {
  readonly payload: readonly DamlType[];
  readonly view: readonly DamlType[];
  readonly choices: readonly ChoiceModel[];
}

/**
 * Reads the packages of these names in all versions, and the packages that they use.
 * @param names templates and interfaces, package-name:Module:Entity
 */
export async function readPackagesOf(
  client: ClientBase,
  storage: string,
  names: readonly string[],
): Promise<readonly PackageModel[]> {
  const packages = `${escapeIdentifier(storage)}.packages`;
  const { rows } = await client.query<{ model: PackageModel }>(
    `with recursive used (package_id) as (
       select p.package_id from ${packages} p where p.package_name = any ($1)
       union
       select d.id from used u join ${packages} p on p.package_id = u.package_id
        cross join lateral jsonb_array_elements_text(p.model -> 'dependencies') d (id))
     select p.model from used u join ${packages} p on p.package_id = u.package_id order by p.package_id`,
    [names.map((name) => name.slice(0, name.indexOf(':')))],
  );
  return rows.map(({ model }) => model);
}

/** Types in events of a template, of an interface, or of both. */
export function eventTypesOf(
  packages: readonly PackageModel[],
  { template, interfaceName }: { readonly template: string | null; readonly interfaceName: string | null },
): EventTypes {
  const templates = definitionsOf(packages, template).filter((definition) => definition.template !== undefined);
  const interfaces = definitionsOf(packages, interfaceName).flatMap(({ contract }) => contract ?? []);
  const implemented = templates.flatMap(({ template: model }) =>
    (model?.implements ?? []).flatMap((name) => interfaceOf(packages, name) ?? []),
  );
  return {
    payload: templates.map(({ model, template: found }) => ({
      kind: 'named',
      name: `${model.packageId}:${found?.moduleName ?? ''}:${found?.entityName ?? ''}`,
      arguments: [],
    })),
    view: interfaces.map(({ view }) => view),
    choices: [
      ...templates.flatMap(({ template: found }) => found?.choices ?? []),
      ...[...interfaces, ...implemented].flatMap(({ choices }) => choices),
    ],
  };
}

function definitionsOf(packages: readonly PackageModel[], name: string | null): readonly Definition[] {
  if (name === null) return [];
  const [packageName = '', moduleName = '', entityName = ''] = name.split(':');
  const isNamed = (item: TemplateModel | InterfaceModel): boolean =>
    item.moduleName === moduleName && item.entityName === entityName;
  return packages
    .filter((model) => model.name === packageName)
    .map((model) => ({
      model,
      template: model.templates.find(isNamed),
      contract: model.interfaces.find(isNamed),
    }));
}

function interfaceOf(packages: readonly PackageModel[], name: string): InterfaceModel | undefined {
  const [packageId, moduleName, entityName] = name.split(':');
  return packages
    .find((model) => model.packageId === packageId)
    ?.interfaces.find((item) => item.moduleName === moduleName && item.entityName === entityName);
}
