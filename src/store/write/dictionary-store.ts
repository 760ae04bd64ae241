/**
 * The dictionaries: templates, choices, synchronizers, interfaces of templates, party sets. They are read completely at
 * the start of a session, and extended in the transaction of a batch.
 */
import type { ClientBase } from 'pg';
import {
  bytesPerStep,
  rememberedBytes,
  maxCachedPartySets,
  type StoredCombinations,
} from '../../model/party-combinations.ts';
import { Dictionary, type DictionaryEntries, type StoredParties } from '../../model/dictionary.ts';
import { tablesOf } from '../connection/query-builder.ts';
import type { Statement } from '../connection/round-trip.ts';

export async function loadDictionary(client: ClientBase): Promise<Dictionary> {
  return new Dictionary(await loadNames(client), await newestParties(client));
}

/** All names with their numbers, except the party sets. */
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

/** The newest party sets of both tables, oldest first. */
async function newestParties(client: ClientBase): Promise<StoredParties> {
  return {
    contracts: await newestOf(client, 'contract_parties', ['signatories', 'observers', 'witness_parties']),
    events: await newestOf(client, 'event_parties', ['acting_parties', 'witness_parties', 'implemented_interfaces']),
  };
}

/**
 * Party sets that {@link PartyCombinations} keeps in memory. Numbers below zero were not assigned by the writer. Rows
 * are read from the newest on, only as many as fit, because the ledger does not limit the number of parties in a row.
 */
async function newestOf(
  client: ClientBase,
  table: 'contract_parties' | 'event_parties',
  columns: readonly [string, string, string],
): Promise<StoredCombinations> {
  const next = (before: string): string =>
    `select parties_pk, octet_length(array_to_string(texts, ''))
            + (cardinality(texts) + ${String(columns.length)})::bigint * ${String(bytesPerStep)} as size
       from (select parties_pk, ${columns.join(' || ')} as texts from ${table} where parties_pk > 0 ${before}
              order by parties_pk desc limit 1) one`;
  const { rows } = await client.query<{ pk: number; first: string[]; second: string[]; third: string[] }>(
    `with recursive newest as (
       select parties_pk, 1 as count, size from (${next('')}) last
       union all
       select n.parties_pk, newest.count + 1, newest.size + n.size
         from newest cross join lateral (${next('and parties_pk < newest.parties_pk')}) n
        where newest.count < $1 and newest.size <= $2)
     select parties_pk as pk, ${columns[0]} as first, ${columns[1]} as second, ${columns[2]} as third
       from newest join ${table} using (parties_pk) where size <= $2 order by parties_pk`,
    [maxCachedPartySets, rememberedBytes],
  );
  const last = await tablesOf(client)
    .selectFrom(table)
    .select(({ fn }) => fn.max('parties_pk').as('pk'))
    .executeTakeFirst();
  return {
    last: Math.max(0, last?.pk ?? 0),
    newest: rows.map(({ pk, first, second: secondList, third: thirdList }) => ({
      pk,
      lists: [first, secondList, thirdList],
    })),
  };
}

/** Statements that store new entries. A template may be stored again to add a package name that it lacked. */
export function entryStatements(addedEntries: DictionaryEntries): Statement[] {
  return [
    ...addedEntries.synchronizers.map((entry) => ({
      name: 'add-synchronizer',
      text: 'insert into synchronizers values ($1, $2)',
      values: [entry.pk, entry.synchronizerId],
    })),
    ...addedEntries.templates.map((entry) => ({
      name: 'add-template',
      text: `insert into templates (template_pk, package_id, module_name, entity_name, package_name)
             values ($1, $2, $3, $4, $5)
             on conflict (template_pk) do update set package_name = excluded.package_name`,
      values: [entry.pk, entry.packageId, entry.moduleName, entry.entityName, entry.packageName],
    })),
    ...addedEntries.choices.map((entry) => ({
      name: 'add-choice',
      text: 'insert into choices values ($1, $2, $3, $4)',
      values: [entry.pk, entry.templatePk, entry.interfacePk, entry.choice],
    })),
    ...addedEntries.implementations.map((entry) => ({
      name: 'add-template-interface',
      text: 'insert into template_interfaces (template_pk, interface_pk) values ($1, $2)',
      values: [entry.templatePk, entry.interfacePk],
    })),
  ];
}
