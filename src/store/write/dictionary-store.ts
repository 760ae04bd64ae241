/** The dictionaries (templates, choices, synchronizers, interfaces of templates, parties) read whole at session start, extended within a batch's transaction. */
import type { ClientBase } from 'pg';
import { rememberedCombinations } from '../../model/party-combinations.ts';
import { Dictionary, type DictionaryEntries, type StoredParties } from '../../model/dictionary.ts';
import { tablesOf } from '../connection/query-builder.ts';
import type { Statement } from '../connection/round-trip.ts';

export async function loadDictionary(client: ClientBase): Promise<Dictionary> {
  return new Dictionary(await loadNames(client), await newestParties(client));
}

/** All names with their numbers, without the combinations of parties. */
export async function loadNames(client: ClientBase): Promise<DictionaryEntries> {
  const tables = tablesOf(client);
  const templates = await tables.selectFrom('templates').selectAll().orderBy('template_pk').execute();
  const choices = await tables.selectFrom('choices').selectAll().orderBy('choice_pk').execute();
  const synchronizers = await tables.selectFrom('synchronizers').selectAll().orderBy('synchronizer_pk').execute();
  const implementations = await tables.selectFrom('template_interfaces').selectAll().execute();
  return {
    templates: templates.map((row) => ({
      pk: row.template_pk,
      text: `${row.package_id}:${row.module_name}:${row.entity_name}`,
      packageId: row.package_id,
      moduleName: row.module_name,
      entityName: row.entity_name,
      packageName: row.package_name,
    })),
    choices: choices.map((row) => ({
      pk: row.choice_pk,
      templatePk: row.template_pk,
      interfacePk: row.interface_pk,
      choice: row.choice,
    })),
    synchronizers: synchronizers.map((row) => ({ pk: row.synchronizer_pk, synchronizerId: row.synchronizer_id })),
    implementations: implementations.map((row) => ({
      templatePk: row.template_pk,
      interfacePk: row.interface_pk,
    })),
  };
}

/** As many combinations of parties as are remembered, oldest first. Those below zero were not numbered by the writer. */
async function newestParties(client: ClientBase): Promise<StoredParties> {
  const tables = tablesOf(client);
  const contracts = tables.selectFrom('contract_parties').selectAll().orderBy('parties_pk', 'desc');
  const events = tables.selectFrom('event_parties').selectAll().orderBy('parties_pk', 'desc');
  const numbered = contracts.where('parties_pk', '>', 0).limit(rememberedCombinations);
  const newestContracts = await numbered.execute();
  const newestEvents = await events.where('parties_pk', '>', 0).limit(rememberedCombinations).execute();
  return {
    contracts: newestContracts
      .toReversed()
      .map((row) => ({ pk: row.parties_pk, lists: [row.signatories, row.observers, row.witness_parties] })),
    events: newestEvents.toReversed().map((row) => ({
      pk: row.parties_pk,
      lists: [row.acting_parties, row.witness_parties, row.implemented_interfaces],
    })),
  };
}

/** What stores new entries. A template may come again with the package name it lacked. */
export function entryStatements(added: DictionaryEntries): Statement[] {
  return [
    ...added.synchronizers.map((entry) => ({
      name: 'add-synchronizer',
      text: 'insert into synchronizers values ($1, $2)',
      values: [entry.pk, entry.synchronizerId],
    })),
    ...added.templates.map((entry) => ({
      name: 'add-template',
      text: `insert into templates (template_pk, package_id, module_name, entity_name, package_name)
             values ($1, $2, $3, $4, $5)
             on conflict (template_pk) do update set package_name = excluded.package_name`,
      values: [entry.pk, entry.packageId, entry.moduleName, entry.entityName, entry.packageName],
    })),
    ...added.choices.map((entry) => ({
      name: 'add-choice',
      text: 'insert into choices values ($1, $2, $3, $4)',
      values: [entry.pk, entry.templatePk, entry.interfacePk, entry.choice],
    })),
    ...added.implementations.map((entry) => ({
      name: 'add-template-interface',
      text: 'insert into template_interfaces (template_pk, interface_pk) values ($1, $2)',
      values: [entry.templatePk, entry.interfacePk],
    })),
  ];
}
