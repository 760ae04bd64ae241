/**
 * The append-only tables with the columns and types that rows are built in, in this order. The SQL truth is migrations/;
 * a test compares the two.
 */
import type { Text } from './utf8.ts';

/** How arguments and results of exercises are stored: parsed, or as the ledger's text. */
export type ExerciseJson = 'jsonb' | 'json';

/** Column values: null, numbers, flags, text, text[]; JSON travels as text, times as text or in Postgres' microseconds. */
export type ColumnValue = Text | number | bigint | boolean | null | readonly string[];
export type Row = readonly ColumnValue[];

/**
 * `id`, `base64` and `trace` are texts that are stored as bytes, see id_text, base64_text and trace_text in
 * migrations/0002_events.sql; `char` is one ASCII character, type "char".
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

export const tables = {
  updates: {
    offset: 'int8',
    batch_offset: 'int8',
    effective_at: 'timestamptz',
    record_time: 'timestamptz',
    paid_traffic_cost: 'int8',
    event_count: 'int4',
    synchronizer_pk: 'int4',
    kind: 'char',
    update_id: 'id',
    trace_parent: 'trace',
    command_id: 'text',
    workflow_id: 'text',
    trace_state: 'text',
    external_transaction_hash: 'id',
    transaction_hash: 'id',
    raw: 'json',
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
    created_at: 'timestamptz',
    reassignment_counter: 'int8',
    node_id: 'int4',
    template_pk: 'int4',
    synchronizer_pk: 'int4',
    parties_pk: 'int4',
    origin: 'char',
    acs_delta: 'bool',
    contract_id: 'id',
    payload: 'jsonb',
    contract_key: 'jsonb',
    contract_key_hash: 'base64',
    created_event_blob: 'base64',
    representative_package_id: 'text',
    workflow_id: 'text',
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
    last_descendant_node_id: 'int4',
    template_pk: 'int4',
    choice_pk: 'int4',
    parties_pk: 'int4',
    consuming: 'bool',
    acs_delta: 'bool',
    contract_id: 'id',
    argument: 'jsonb',
    result: 'jsonb',
    redaction_id: 'text',
  },
  archives: {
    offset: 'int8',
    node_id: 'int4',
    template_pk: 'int4',
    parties_pk: 'int4',
    contract_id: 'id',
  },
  interface_views: {
    offset: 'int8',
    node_id: 'int4',
    interface_pk: 'int4',
    status_code: 'int4',
    view: 'jsonb',
    status_message: 'text',
    status_details: 'jsonb',
    implementation_package_id: 'text',
    redaction_id: 'text',
  },
  reassignments: {
    offset: 'int8',
    reassignment_counter: 'int8',
    assignment_exclusivity: 'timestamptz',
    node_id: 'int4',
    template_pk: 'int4',
    source_pk: 'int4',
    target_pk: 'int4',
    parties_pk: 'int4',
    kind: 'char',
    incomplete: 'bool',
    contract_id: 'id',
    reassignment_id: 'text',
    submitter: 'text',
    created_event: 'jsonb',
    workflow_id: 'text',
  },
  topology_events: {
    offset: 'int8',
    event_index: 'int4',
    kind: 'text',
    party_id: 'text',
    participant_id: 'text',
    participant_permission: 'text',
    raw: 'json',
  },
} as const satisfies Record<string, Readonly<Record<string, ColumnType>>>;

export type TableName = keyof typeof tables;

/** The types of the columns by table, in the order of the columns. */
export type ColumnTypes = Readonly<Record<TableName, Readonly<Record<string, ColumnType>>>>;

/** The tables of a database that stores arguments and results so. */
export function columnTypes(type: ExerciseJson): ColumnTypes {
  return { ...tables, exercises: { ...tables.exercises, argument: type, result: type } };
}

/** Takes rows as they are built; a row is not looked at again after the call. */
export interface RowSink {
  push(table: TableName, row: Row): void;
}
