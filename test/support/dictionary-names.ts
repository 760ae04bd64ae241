/**
 * Replaces the numbers of templates, choices, synchronizers and party sets with their names. Numbers are assigned in
 * the order of first appearance. If a ledger sends two updates in a different order, only the numbers differ.
 */
import { escapeIdentifier } from 'pg';

const template = (schema: string, number: string): string =>
  `(select concat_ws(':', d.package_id, d.module_name, d.entity_name) from ${schema}.templates d
     where d.template_pk = ${number})`;

const choice = (schema: string, number: string): string =>
  `(select concat_ws('/', ${template(schema, 'h.template_pk')}, ${template(schema, 'h.interface_pk')}, h.choice)
      from ${schema}.choices h where h.choice_pk = ${number})`;

const synchronizer = (schema: string, number: string): string =>
  `(select d.synchronizer_id from ${schema}.synchronizers d where d.synchronizer_pk = ${number})`;

const contractParties = (schema: string, number: string): string =>
  `(select jsonb_build_array(d.signatories, d.observers, d.witness_parties)::text
      from ${schema}.contract_parties d where d.parties_pk = ${number})`;

const eventParties = (schema: string, number: string): string =>
  `(select jsonb_build_array(d.acting_parties, d.witness_parties, d.implemented_interfaces)::text
      from ${schema}.event_parties d where d.parties_pk = ${number})`;

/** Dictionary tables. Other rows refer to their rows by number. */
export const numberedTables: ReadonlySet<string> = new Set(['contract_parties', 'event_parties']);

const withEventParties: ReadonlySet<string> = new Set(['exercises', 'archives', 'reassignments']);

const names: Readonly<Record<string, (schema: string, number: string) => string>> = {
  template_pk: template,
  interface_pk: template,
  choice_pk: choice,
  synchronizer_pk: synchronizer,
  source_pk: synchronizer,
  target_pk: synchronizer,
};

/**
 * SQL for a column of the table `t` as text: the name for a number of a dictionary, otherwise the value. The number 0
 * is unchanged.
 */
export function namedColumn(schema: string, table: string, column: string): string {
  const value = `t.${escapeIdentifier(column)}`;
  const parties = withEventParties.has(table) ? eventParties : contractParties;
  const name = (column === 'parties_pk' ? parties : names[column])?.(escapeIdentifier(schema), value);
  return name === undefined ? `${value}::text` : `coalesce(${name}, ${value}::text)`;
}

/** SQL for a row of the table `t` as jsonb, with names instead of numbers. */
export function namedRow(schema: string, table: string, columns: readonly string[]): string {
  const partyColumns = columns.filter((column) => column === 'parties_pk' || column in names);
  const pairs = partyColumns.map((column) => `'${column}', ${namedColumn(schema, table, column)}`);
  return pairs.length === 0 ? 'to_jsonb(t)' : `to_jsonb(t) || jsonb_build_object(${pairs.join(', ')})`;
}
