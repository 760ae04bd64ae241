/**
 * Package models derived from the stored templates of a run. No package was recorded, so payloads and arguments define
 * the fields.
 */
import type { Client } from 'pg';
import type { ChoiceModel, DamlType, DataType, PackageModel } from '../../../src/daml/package-model.ts';

interface Entity {
  readonly package_id: string;
  /** Package name; null for an interface. */
  readonly package_name: string | null;
  readonly module_name: string;
  readonly entity_name: string;
  readonly fields: readonly string[];
  readonly choices: readonly { readonly choice: string; readonly fields: readonly string[] }[];
}

const entities = `
  select t.package_id, t.package_name, t.module_name, t.entity_name,
         array(select distinct jsonb_object_keys(payload) from ledger.contracts c
                where c.template_pk = t.template_pk order by 1) as fields,
         array(select jsonb_build_object('choice', h.choice, 'fields', array(
                        select distinct jsonb_object_keys(e.argument) from ledger.choices o
                          join ledger.exercises e using (choice_pk)
                         where o.choice = h.choice and t.template_pk in (o.interface_pk, o.template_pk) order by 1))
                 from (select distinct choice from ledger.choices o
                        where case when t.package_name is null then o.interface_pk = t.template_pk
                                   else o.template_pk = t.template_pk and o.interface_pk = 0 end) h
                order by 1) as choices
    from ledger.templates t order by package_id, module_name, entity_name`;

const anyType: DamlType = { kind: 'builtin', name: 'any' };

function record(fields: readonly string[]): DataType {
  return { kind: 'record', parameters: [], fields: fields.map((name) => ({ name, type: anyType })) };
}

/** All packages with a template or interface that the run has stored. Each package id is a separate version. */
export async function recordedPackages(client: Client): Promise<readonly PackageModel[]> {
  const { rows } = await client.query<Entity>(entities);
  const ids = [...new Set(rows.map((row) => row.package_id))];
  return ids.map((packageId, index) => {
    const packageRows = rows.filter((row) => row.package_id === packageId);
    const name = packageRows.find((row) => row.package_name !== null)?.package_name ?? packageId;
    return modelOf(packageId, name, `1.0.${String(index)}`, packageRows);
  });
}

function modelOf(packageId: string, name: string, version: string, packageEntities: readonly Entity[]): PackageModel {
  const dataTypes = new Map<string, DataType>();
  const define = (module: string, type: string, fields: readonly string[]): DamlType => {
    dataTypes.set(`${module}:${type}`, record(fields));
    return { kind: 'named', name: `${packageId}:${module}:${type}`, arguments: [] };
  };
  const entityDescriptions = packageEntities.map((entity) => {
    const { module_name: moduleName, entity_name: entityName } = entity;
    const choices = entity.choices.map(({ choice, fields }): ChoiceModel => {
      const argument = define(moduleName, `${entityName} ${choice}`, fields);
      return { name: choice, consuming: false, argument, result: anyType };
    });
    const type = define(moduleName, entityName, entity.fields);
    return { moduleName, entityName, choices, type, isInterface: entity.package_name === null };
  });
  return {
    packageId,
    name,
    version,
    languageVersion: '2.1',
    templates: entityDescriptions
      .filter(({ isInterface }) => !isInterface)
      .map(({ moduleName, entityName, choices }) => ({
        moduleName,
        entityName,
        choices,
        implements: [],
        key: undefined,
      })),
    interfaces: entityDescriptions
      .filter(({ isInterface }) => isInterface)
      .map(({ moduleName, entityName, choices, type }) => ({
        moduleName,
        entityName,
        choices,
        view: type,
        requires: [],
      })),
    dataTypes: Object.fromEntries(dataTypes),
    dependencies: [],
  };
}
