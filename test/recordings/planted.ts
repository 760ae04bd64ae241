/**
 * Errors that are injected into tables: a changed value, a missing row, and a row that was never sent. The comparison
 * must find them.
 */
import type { Client } from 'pg';
import { internalColumns } from './stored.ts';

/** Tables, with the column values that turn a copied row into a different row. */
export const tables: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  updates: { offset: 999_999 },
  contracts: { node_id: 9_999 },
  exercises: { offset: 999_999 },
  archives: { offset: 999_999 },
  interface_views: { node_id: 99 },
  template_interfaces: { template_pk: 99, interface_pk: 99 },
  reassignments: { offset: 999_999 },
  topology_events: { event_index: 99 },
  live: { node_id: 99 },
  ended: { node_id: 99 },
  templates: { template_pk: 99, entity_name: 'Planted' },
  synchronizers: { synchronizer_pk: 99, synchronizer_id: 'planted::1220' },
  choices: { choice_pk: 99, choice: 'Planted' },
  activity_hourly: { hour: '2020-01-01T00:00:00Z' },
  coverage: { from_offset: 999_999 },
};

/** Tables of party sets, whose values are visible in the tables that refer to them. */
export const parties = ['contract_parties', 'event_parties'] as const;

/** The compared relation that contains the rows of a table. */
export const relationOfTable: Readonly<Record<string, string>> = { live: 'lifetimes', ended: 'lifetimes' };

/** SQL that changes a value, by column type; `%` is the column. */
const changedValues: Readonly<Record<string, string>> = {
  text: `coalesce(%, '') || 'x'`,
  ARRAY: `array_append(%, 'x')`,
  bigint: 'coalesce(%, 999999) + 1',
  // This is above all numbers of the dictionaries.
  integer: 'coalesce(%, 0) + 1000',
  'double precision': 'coalesce(%, 0) + 0.000001',
  boolean: 'not coalesce(%, false)',
  'timestamp with time zone': `coalesce(%, 'epoch') + interval '1 microsecond'`,
  json: 'json_build_array(%)',
  jsonb: 'jsonb_build_array(%)',
  '"char"': `case % when 'a' then 'u' else 'a' end`,
  bytea: `coalesce(%, '') || '\\x00'`,
};

export interface Column {
  readonly name: string;
  readonly type: string;
}

/** All columns with facts of the ledger or with numbers of dictionaries. */
export async function columnsOf(client: Client, table: string): Promise<readonly Column[]> {
  const { rows } = await client.query<Column>(
    `select column_name as name, data_type as type from information_schema.columns
      where table_schema = 'ledger' and table_name = $1`,
    [table],
  );
  return rows.filter(({ name }) => name.endsWith('_pk') || !internalColumns.has(name));
}

const middle = (table: string): string =>
  `(select ctid from ledger.${table} order by ctid offset (select count(*) / 2 from ledger.${table}) limit 1)`;

/** Statements that each change one row. */
export const plantedChanges = {
  value: (table: string, { name, type }: Column): string => {
    const change = changedValues[type]?.replace('%', `"${name}"`);
    if (change === undefined) throw new Error(`no change is known for ${table}.${name} of type ${type}`);
    return `update ledger.${table} set "${name}" = ${change} where ctid = ${middle(table)}`;
  },
  lostRow: (table: string): string => `delete from ledger.${table} where ctid = ${middle(table)}`,
  rowTooMany: (table: string): string =>
    `insert into ledger.${table} select (jsonb_populate_record(t, '${JSON.stringify(tables[table])}')).*
       from ledger.${table} t where t.ctid = ${middle(table)}`,
} as const;

/** Executes the statement, which changes one row, and returns the result of `use`. Then rolls the change back. */
export async function withPlantedChange<T>(client: Client, statement: string, callback: () => Promise<T>): Promise<T> {
  await client.query('begin');
  try {
    const { rows } = await client.query<{ drop: string }>(
      `select format('alter table %s drop constraint %I', conrelid::regclass, conname) as drop from pg_constraint
        where contype = 'c' and connamespace = 'ledger'::regnamespace`,
    );
    for (const { drop } of rows) await client.query(drop);
    const { rowCount } = await client.query(statement);
    if (rowCount !== 1) throw new Error(`${String(rowCount)} rows instead of one: ${statement}`);
    return await callback();
  } finally {
    await client.query('rollback');
  }
}
