/**
 * What `verify` compares, in the words that both sides are put into: the ledger's frames by `ledger/frames/plain-frame.ts`, the
 * stored rows by `store/verify/stored-lines.ts`. A row is a list of texts in the order of these names. Pure.
 */

const active = [
  'synchronizer',
  'offset',
  'template',
  'payload',
  'contract_key',
  'signatories',
  'observers',
  'created_at',
  'reassignment_counter',
] as const;

const reassignment = [
  'node_id',
  'template',
  'reassignment_id',
  'source',
  'target',
  'submitter',
  'reassignment_counter',
  'assignment_exclusivity',
  'witness_parties',
] as const;

/** Fields by kind of row. Times are microseconds since 1970, lists and payloads JSON text, identifiers as the ledger prints them. */
export const comparedFields = {
  /** A contract active at an offset. What only its update tells alike every time is left to the comparison of updates. */
  active,
  /** One that was found by a seed: it came from such a list, no update is stored that could be compared. */
  seeded: [
    ...active,
    'node_id',
    'representative_package_id',
    'contract_key_hash',
    'witness_parties',
    'created_event_blob',
    'acs_delta',
    'workflow_id',
  ],
  /** Half of a reassignment that a seed found in flight, and that still is. */
  in_flight: [...reassignment, 'created_event', 'workflow_id'],
  update: [
    'kind',
    'update_id',
    'synchronizer',
    'command_id',
    'workflow_id',
    'effective_at',
    'record_time',
    'trace_parent',
    'trace_state',
    'external_transaction_hash',
    'transaction_hash',
    'paid_traffic_cost',
    'event_count',
    'raw',
  ],
  contract: [
    'node_id',
    'origin',
    'synchronizer',
    'template',
    'representative_package_id',
    'payload',
    'contract_key',
    'contract_key_hash',
    'signatories',
    'observers',
    'witness_parties',
    'created_event_blob',
    'created_at',
    'acs_delta',
    'reassignment_counter',
  ],
  view: ['view', 'status_code', 'status_message', 'status_details', 'implementation_package_id'],
  exercise: [
    'contract_id',
    'template',
    'interface',
    'choice',
    'argument',
    'result',
    'acting_parties',
    'witness_parties',
    'consuming',
    'last_descendant_node_id',
    'implemented_interfaces',
    'acs_delta',
  ],
  archive: ['contract_id', 'template', 'witness_parties', 'implemented_interfaces'],
  reassignment,
  topology: ['kind', 'party_id', 'participant_id', 'participant_permission', 'raw'],
} as const satisfies Record<string, readonly string[]>;

/** Lists of parties in a create that is compared as a whole: each is a set. */
export const partyLists = ['signatories', 'observers', 'witnessParties'] as const;

export type ComparedKind = keyof typeof comparedFields;
export type FieldOf<K extends ComparedKind> = (typeof comparedFields)[K][number];
/** One text per field; null where there is none. */
export type FieldTexts<K extends ComparedKind> = Readonly<Record<FieldOf<K>, string | null>>;

/** Fields that a redaction removes: of redacted rows they are not compared. */
export const redactedFields: Readonly<Partial<Record<ComparedKind, readonly string[]>>> = {
  active: ['payload', 'contract_key'],
  seeded: ['payload', 'contract_key', 'contract_key_hash', 'created_event_blob'],
  in_flight: ['created_event'],
  contract: ['payload', 'contract_key', 'contract_key_hash', 'created_event_blob'],
  view: ['view', 'status_message', 'status_details'],
  exercise: ['argument', 'result'],
};

export interface ComparedRow {
  readonly kind: ComparedKind;
  /** Names the row within its update, e.g. `exercise 3`, or its contract among the active ones. */
  readonly key: string;
  /** In the order of {@link comparedFields}. */
  readonly fields: readonly (string | null)[];
}

/** Between the fields of a line, and for a field that is not there: characters that stand in none of them. */
export const separator = '\u001f';
export const absent = '\u001e';

/** A row from its fields by name. */
export function comparedRow<K extends ComparedKind>(kind: K, key: string, texts: FieldTexts<K>): ComparedRow {
  const names: readonly FieldOf<K>[] = comparedFields[kind];
  return { kind, key, fields: names.map((name) => texts[name]) };
}

/** The fields that are compared. `redacted`: without the contents, as null. */
export function shownFields({ kind, fields }: ComparedRow, redacted: boolean): readonly (string | null)[] {
  const hidden = redacted ? redactedFields[kind] : undefined;
  if (hidden === undefined) return fields;
  const names: readonly string[] = comparedFields[kind];
  return fields.map((text, index) => (hidden.includes(names[index] ?? '') ? null : text));
}

/** The line whose hash is compared. */
export function lineOf(row: ComparedRow, redacted: boolean): string {
  return shownFields(row, redacted)
    .map((text) => text ?? absent)
    .join(separator);
}
