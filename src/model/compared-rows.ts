/**
 * The rows that `verify` compares, in the common form of both sides. `ledger/frames/plain-frame.ts` converts the
 * ledger's frames, and `store/verify/stored-lines.ts` the stored rows. A row is a list of texts in the order of these
 * names. Pure.
 */
import { type ComparedColumnOf, comparedColumns } from './tables.ts';

const contractFields = ['synchronizer', 'template', 'signatories', 'observers'] as const;
const reassignmentFields = ['template', 'source', 'target', 'witness_parties'] as const;

/**
 * Fields that are not a column of the same name in the row's own table: they are combined from columns, or named by a
 * dictionary.
 */
const joinedFields = {
  active: ['offset', ...contractFields],
  seeded: ['offset', ...contractFields, 'witness_parties'],
  in_flight: reassignmentFields,
  update: ['synchronizer'],
  contract: [...contractFields, 'witness_parties'],
  view: [],
  exercise: ['template', 'interface', 'choice', 'acting_parties', 'witness_parties', 'implemented_interfaces'],
  archive: ['template', 'witness_parties', 'implemented_interfaces'],
  reassignment: reassignmentFields,
  topology: [],
} as const satisfies Record<string, readonly string[]>;

/**
 * `active`: a contract that is active at an offset, without the fields that only its update returns reliably; the
 * comparison of updates covers these. `seeded`: a contract that was found by a seed, for which no update is stored that
 * could be compared. `in_flight`: half of a reassignment that a seed found in flight and that still is in flight. The
 * other kinds are rows of updates.
 */
export type RowKind = keyof typeof joinedFields;
export type JoinedField<K extends RowKind> = (typeof joinedFields)[K][number];
export type FieldName<K extends RowKind> = JoinedField<K> | ComparedColumnOf<K>;

/**
 * Fields by kind of row. Times are microseconds since 1970, lists and payloads are JSON text, identifiers are written
 * as the ledger prints them.
 */
export const comparedFields: { readonly [K in RowKind]: readonly FieldName<K>[] } = {
  active: fieldsOf('active'),
  seeded: fieldsOf('seeded'),
  in_flight: fieldsOf('in_flight'),
  update: fieldsOf('update'),
  contract: fieldsOf('contract'),
  view: fieldsOf('view'),
  exercise: fieldsOf('exercise'),
  archive: fieldsOf('archive'),
  reassignment: fieldsOf('reassignment'),
  topology: fieldsOf('topology'),
};

function fieldsOf<K extends RowKind>(kind: K): readonly FieldName<K>[] {
  const names: readonly string[] = [...joinedFields[kind], ...Object.keys(comparedColumns(kind))];
  return names as readonly FieldName<K>[];
}

/** Lists of parties in a create that is compared as one text. Their order has no meaning. */
export const partyListNames = ['signatories', 'observers', 'witnessParties'] as const;

/** One text per field; null if the field is absent. */
export type FieldTexts<K extends RowKind> = Readonly<Record<FieldName<K>, string | null>>;

/** Fields that a redaction removes. They are not compared for redacted rows. */
export const redactedFields: Readonly<Partial<Record<RowKind, readonly string[]>>> = {
  active: ['payload', 'contract_key'],
  seeded: ['payload', 'contract_key', 'contract_key_hash', 'created_event_blob'],
  in_flight: ['created_event'],
  contract: ['payload', 'contract_key', 'contract_key_hash', 'created_event_blob'],
  view: ['view', 'status_message', 'status_details'],
  exercise: ['argument', 'result'],
};

export interface ComparableRow {
  readonly kind: RowKind;
  /** Identifies the row within its update, e.g. `exercise 3`, or the contract among the active ones. */
  readonly key: string;
  /** In the order of {@link comparedFields}. */
  readonly fields: readonly (string | null)[];
}

/** Characters that separate the fields of a line, and mark an absent field; no field contains them. */
export const separator = '\u001f';
export const missingValue = '\u001e';

/** A row from its fields by name. */
export function comparedRow<K extends RowKind>(kind: K, key: string, texts: FieldTexts<K>): ComparableRow {
  const names: readonly FieldName<K>[] = comparedFields[kind];
  return { kind, key, fields: names.map((name) => texts[name]) };
}

/** The compared fields. @param redacted whether the contents are replaced by null */
export function visibleFields({ kind, fields }: ComparableRow, redacted: boolean): readonly (string | null)[] {
  const redactedNames = redacted ? redactedFields[kind] : undefined;
  if (redactedNames === undefined) return fields;
  const names: readonly string[] = comparedFields[kind];
  return fields.map((text, index) => (redactedNames.includes(names[index] ?? '') ? null : text));
}

/** The line whose hash is compared. */
export function lineOf(row: ComparableRow, redacted: boolean): string {
  return visibleFields(row, redacted)
    .map((text) => text ?? missingValue)
    .join(separator);
}
