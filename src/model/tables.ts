/**
 * The append-only tables: columns and types in the order in which rows are built, and further properties of columns.
 * The schema itself is defined in migrations/; a test compares the two.
 */
import type { TextOrUtf8 } from './utf8.ts';

/** Storage of arguments and results of exercises: parsed, or as the ledger's text. */
export type ExerciseJson = 'jsonb' | 'json';

/**
 * Column values: null, numbers, flags, text, text[]. JSON is passed as text, times as text or in Postgres'
 * microseconds.
 */
export type ColumnValue = TextOrUtf8 | number | bigint | boolean | null | readonly string[];
export type Row = readonly ColumnValue[];

/**
 * `id`, `base64` and `trace` are texts that are stored as bytes, see id_text, base64_text and trace_text in
 * migrations/0002_events.sql. `char` is one ASCII character, type "char".
 */
export type ColumnType =
  | 'int2'
  | 'int4'
  | 'int8'
  | 'text'
  | 'text[]'
  | 'bool'
  | 'timestamptz'
  | 'json'
  | 'jsonb'
  | 'id'
  | 'base64'
  | 'trace'
  | 'char';

/** Further properties of a column. A plain type means that there are none. */
export interface Column {
  readonly type: ColumnType;
  /**
   * Whether an older row may get the value later: some filters return it and others do not, or an update has it and a
   * list of active contracts does not.
   */
  readonly gained?: true;
  /** Kinds of rows in which `verify` compares the column under its own name; see `compared-rows.ts`. */
  readonly compared?: readonly string[];
}

export const columns = {
  updates: {
    offset: 'int8',
    batch_offset: 'int8',
    effective_at: { type: 'timestamptz', gained: true, compared: ['update'] },
    record_time: { type: 'timestamptz', gained: true, compared: ['update'] },
    paid_traffic_cost: { type: 'int8', gained: true, compared: ['update'] },
    event_count: { type: 'int4', gained: true, compared: ['update'] },
    synchronizer_pk: 'int4',
    kind: { type: 'char', compared: ['update'] },
    update_id: { type: 'id', compared: ['update'] },
    trace_parent: { type: 'trace', gained: true, compared: ['update'] },
    command_id: { type: 'text', gained: true, compared: ['update'] },
    workflow_id: { type: 'text', gained: true, compared: ['update'] },
    trace_state: { type: 'text', gained: true, compared: ['update'] },
    external_transaction_hash: { type: 'id', gained: true, compared: ['update'] },
    transaction_hash: { type: 'id', gained: true, compared: ['update'] },
    raw: { type: 'json', compared: ['update'] },
  },
  contract_parties: {
    parties_pk: 'int4',
    signatories: 'text[]',
    observers: 'text[]',
    witness_parties: 'text[]',
  },
  event_parties: {
    parties_pk: 'int4',
    acting_parties: 'text[]',
    witness_parties: 'text[]',
    implemented_interfaces: 'text[]',
  },
  contracts: {
    offset: 'int8',
    created_at: { type: 'timestamptz', gained: true, compared: ['contract', 'active', 'seeded'] },
    reassignment_counter: { type: 'int8', gained: true, compared: ['contract', 'active', 'seeded'] },
    node_id: { type: 'int4', compared: ['contract', 'seeded'] },
    template_pk: 'int4',
    synchronizer_pk: 'int4',
    parties_pk: 'int4',
    origin: { type: 'char', gained: true, compared: ['contract'] },
    acs_delta: { type: 'bool', gained: true, compared: ['contract', 'seeded'] },
    contract_id: 'id',
    payload: { type: 'jsonb', compared: ['contract', 'active', 'seeded'] },
    contract_key: { type: 'jsonb', compared: ['contract', 'active', 'seeded'] },
    contract_key_hash: { type: 'base64', compared: ['contract', 'seeded'] },
    created_event_blob: { type: 'base64', gained: true, compared: ['contract', 'seeded'] },
    representative_package_id: { type: 'text', gained: true, compared: ['contract', 'seeded'] },
    workflow_id: { type: 'text', gained: true, compared: ['seeded'] },
    redaction_id: 'text',
  },
  live: {
    offset: 'int8',
    node_id: 'int4',
    template_pk: 'int4',
    synchronizer_pk: 'int4',
    parties_pk: 'int4',
    contract_id: 'id',
  },
  ended: {
    offset: 'int8',
    ended_offset: 'int8',
    node_id: 'int4',
    template_pk: 'int4',
    synchronizer_pk: 'int4',
    parties_pk: 'int4',
    class: 'int2',
    ended_by: 'char',
    contract_id: 'id',
    ended_at: 'timestamptz',
    ended_node_id: 'int4',
  },
  exercises: {
    offset: 'int8',
    node_id: 'int4',
    last_descendant_node_id: { type: 'int4', gained: true, compared: ['exercise'] },
    template_pk: 'int4',
    choice_pk: 'int4',
    parties_pk: 'int4',
    consuming: { type: 'bool', compared: ['exercise'] },
    acs_delta: { type: 'bool', gained: true, compared: ['exercise'] },
    contract_id: { type: 'id', compared: ['exercise'] },
    argument: { type: 'jsonb', compared: ['exercise'] },
    result: { type: 'jsonb', compared: ['exercise'] },
    redaction_id: 'text',
  },
  archives: {
    offset: 'int8',
    node_id: 'int4',
    template_pk: 'int4',
    parties_pk: 'int4',
    contract_id: { type: 'id', compared: ['archive'] },
  },
  interface_views: {
    offset: 'int8',
    node_id: 'int4',
    interface_pk: 'int4',
    status_code: { type: 'int4', compared: ['view'] },
    view: { type: 'jsonb', compared: ['view'] },
    status_message: { type: 'text', compared: ['view'] },
    status_details: { type: 'jsonb', compared: ['view'] },
    implementation_package_id: { type: 'text', compared: ['view'] },
    redaction_id: 'text',
  },
  reassignments: {
    offset: 'int8',
    reassignment_counter: { type: 'int8', gained: true, compared: ['reassignment', 'in_flight'] },
    assignment_exclusivity: { type: 'timestamptz', gained: true, compared: ['reassignment', 'in_flight'] },
    node_id: { type: 'int4', gained: true, compared: ['reassignment', 'in_flight'] },
    template_pk: 'int4',
    source_pk: 'int4',
    target_pk: 'int4',
    parties_pk: 'int4',
    kind: 'char',
    incomplete: { type: 'bool', gained: true },
    contract_id: 'id',
    reassignment_id: { type: 'text', compared: ['reassignment', 'in_flight'] },
    submitter: { type: 'text', gained: true, compared: ['reassignment', 'in_flight'] },
    created_event: { type: 'jsonb', gained: true, compared: ['in_flight'] },
    workflow_id: { type: 'text', gained: true, compared: ['in_flight'] },
  },
  topology_events: {
    offset: 'int8',
    event_index: 'int4',
    kind: { type: 'text', compared: ['topology'] },
    party_id: { type: 'text', compared: ['topology'] },
    participant_id: { type: 'text', compared: ['topology'] },
    participant_permission: { type: 'text', compared: ['topology'] },
    raw: { type: 'json', compared: ['topology'] },
  },
} as const satisfies Record<string, Readonly<Record<string, ColumnType | Column>>>;

type Columns = typeof columns;
export type TableName = keyof Columns;
type ColumnTypeOf<C> = C extends { readonly type: infer T } ? T : C;

/** The type of each column. */
export const tables = mapColumns((column) => column.type) as {
  readonly [T in TableName]: { readonly [C in keyof Columns[T]]: ColumnTypeOf<Columns[T][C]> };
};

/** Calls `of` for each column of each table, in their order. */
function mapColumns<Value>(mapColumn: (column: Column) => Value): Record<string, Record<string, Value>> {
  const toColumn = (column: ColumnType | Column): Column => (typeof column === 'string' ? { type: column } : column);
  return Object.fromEntries(
    Object.entries(columns).map(([table, tableColumns]) => [
      table,
      Object.fromEntries(Object.entries(tableColumns).map(([name, column]) => [name, mapColumn(toColumn(column))])),
    ]),
  );
}

const gainedFlags = mapColumns((column) => column.gained === true);

/** Columns of a table that an extended filter may fill in existing rows. */
export function addedColumnsOf(table: TableName): readonly string[] {
  return namesOf(gainedFlags[table] ?? {});
}

/** Columns that `verify` compares in rows of a kind. */
export type ComparedColumnOf<Kind extends string> = {
  [T in TableName]: {
    [C in keyof Columns[T]]: Columns[T][C] extends { readonly compared: readonly (infer Kinds)[] }
      ? Kind extends Kinds
        ? C
        : never
      : never;
  }[keyof Columns[T]];
}[TableName];

/** Names and types of these columns, in the order of the table. */
export function comparedColumns(kind: string): Readonly<Record<string, ColumnType>> {
  const comparedTypes = mapColumns(({ type, compared: kinds = [] }) => (kinds.includes(kind) ? type : undefined));
  const columnEntries = Object.values(comparedTypes).flatMap((tableColumns) => Object.entries(tableColumns));
  return Object.fromEntries(columnEntries.filter((entry): entry is [string, ColumnType] => entry[1] !== undefined));
}

function namesOf(flags: Readonly<Record<string, boolean>>): readonly string[] {
  return Object.entries(flags).flatMap(([name, isChosen]) => (isChosen ? [name] : []));
}

/** The types of the columns by table, in the order of the columns. */
export type ColumnTypes = Readonly<Record<TableName, Readonly<Record<string, ColumnType>>>>;

/** The column types of a database that stores arguments and results as this type. */
export function columnTypes(type: ExerciseJson): ColumnTypes {
  return { ...tables, exercises: { ...tables.exercises, argument: type, result: type } };
}

/** Receives rows as they are built. A row is not read again after the call. */
export interface RowSink {
  push(table: TableName, row: Row): void;
}
