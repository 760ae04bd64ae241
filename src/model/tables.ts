/**
 * The append-only tables with the columns and types that rows are built in, in this order. The SQL truth is migrations/;
 * a test compares the two.
 */

/** Column values: null, numbers, flags, text, text[]; JSON and times travel as text. */
export type ColumnValue = string | number | bigint | boolean | null | readonly string[];
export type Row = readonly ColumnValue[];

export type ColumnType = 'int4' | 'int8' | 'text' | 'text[]' | 'bool' | 'timestamptz' | 'json' | 'jsonb';

export const tables = {
  updates: {
    offset: 'int8',
    kind: 'text',
    update_id: 'text',
    synchronizer_pk: 'int4',
    command_id: 'text',
    workflow_id: 'text',
    effective_at: 'timestamptz',
    record_time: 'timestamptz',
    trace_parent: 'text',
    trace_state: 'text',
    external_transaction_hash: 'text',
    transaction_hash: 'text',
    paid_traffic_cost: 'int8',
    event_count: 'int4',
    raw: 'json',
    epoch: 'int8',
  },
  contracts: {
    contract_id: 'text',
    offset: 'int8',
    node_id: 'int4',
    origin: 'text',
    synchronizer_pk: 'int4',
    template_pk: 'int4',
    representative_package_id: 'text',
    payload: 'jsonb',
    contract_key: 'jsonb',
    contract_key_hash: 'text',
    signatories: 'text[]',
    observers: 'text[]',
    witness_parties: 'text[]',
    created_event_blob: 'text',
    created_at: 'timestamptz',
    acs_delta: 'bool',
    reassignment_counter: 'int8',
    workflow_id: 'text',
    redaction_id: 'text',
  },
  exercises: {
    offset: 'int8',
    node_id: 'int4',
    contract_id: 'text',
    template_pk: 'int4',
    choice_pk: 'int4',
    argument: 'jsonb',
    result: 'jsonb',
    acting_parties: 'text[]',
    witness_parties: 'text[]',
    consuming: 'bool',
    last_descendant_node_id: 'int4',
    implemented_interfaces: 'text[]',
    acs_delta: 'bool',
    redaction_id: 'text',
  },
  archives: {
    offset: 'int8',
    node_id: 'int4',
    contract_id: 'text',
    template_pk: 'int4',
    witness_parties: 'text[]',
    implemented_interfaces: 'text[]',
  },
  interface_views: {
    contract_id: 'text',
    offset: 'int8',
    interface_pk: 'int4',
    view: 'jsonb',
    status_code: 'int4',
    status_message: 'text',
    status_details: 'jsonb',
    implementation_package_id: 'text',
    redaction_id: 'text',
  },
  reassignments: {
    offset: 'int8',
    node_id: 'int4',
    kind: 'text',
    contract_id: 'text',
    template_pk: 'int4',
    reassignment_id: 'text',
    source_pk: 'int4',
    target_pk: 'int4',
    submitter: 'text',
    reassignment_counter: 'int8',
    assignment_exclusivity: 'timestamptz',
    witness_parties: 'text[]',
    incomplete: 'bool',
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
  lifetimes: {
    contract_id: 'text',
    synchronizer_pk: 'int4',
    activated_offset: 'int8',
    template_pk: 'int4',
    deactivated_offset: 'int8',
  },
} as const satisfies Record<string, Readonly<Record<string, ColumnType>>>;

export type TableName = keyof typeof tables;

/** Takes rows as they are built; a row is not looked at again after the call. */
export interface RowSink {
  push(table: TableName, row: Row): void;
}
