/**
 * The rows that `verify` compares, in the common form of both sides. `ledger/frames/plain-frame.ts` converts the
 * ledger's frames, and `store/verify/stored-lines.ts` the stored rows. A row is a list of texts in the order of these
 * names. Pure.
 */
import { type ComparedColumn, comparedColumns } from './tables.ts';

const ofContract = ['synchronizer', 'template', 'signatories', 'observers'] as const;
const ofReassignment = ['template', 'source', 'target', 'witness_parties'] as const;

/**
 * Fields that are not a column of the same name in the row's own table: they are combined from columns, or named by a
 * dictionary.
 */
const joinedFields = {
  active: ['offset', ...ofContract],
  seeded: ['offset', ...ofContract, 'witness_parties'],
  in_flight: ofReassignment,
  update: ['synchronizer'],
  contract: [...ofContract, 'witness_parties'],
  view: [],
  exercise: ['template', 'interface', 'choice', 'acting_parties', 'witness_parties', 'implemented_interfaces'],
  archive: ['template', 'witness_parties', 'implemented_interfaces'],
  reassignment: ofReassignment,
  topology: [],
} as const satisfies Record<string, readonly string[]>;

/**
 * `active`: a contract that is active at an offset, without the fields that only its update returns reliably; the
 * comparison of updates covers these. `seeded`: a contract that was found by a seed, for which no update is stored that
 * could be compared. `in_flight`: half of a reassignment that a seed found in flight and that still is in flight. The
 * other kinds are rows of updates.
 */
export type ComparedKind = keyof typeof joinedFields;
export type JoinedField<K extends ComparedKind> = (typeof joinedFields)[K][number];
export type FieldOf<K extends ComparedKind> = JoinedField<K> | ComparedColumn<K>;

/**
 * Fields by kind of row. Times are microseconds since 1970, lists and payloads are JSON text, identifiers are written
 * as the ledger prints them.
 */
export const comparedFields: { readonly [K in ComparedKind]: readonly FieldOf<K>[] } = {
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

function fieldsOf<K extends ComparedKind>(kind: K): readonly FieldOf<K>[] {
  const names: readonly string[] = [...joinedFields[kind], ...Object.keys(comparedColumns(kind))];
  return names as readonly FieldOf<K>[];
}

/** Lists of parties in a create that is compared as one text. Their order has no meaning. */
export const partyLists = ['signatories', 'observers', 'witnessParties'] as const;

/** One text per field; null if the field is absent. */
export type FieldTexts<K extends ComparedKind> = Readonly<Record<FieldOf<K>, string | null>>;

/** Fields that a redaction removes. They are not compared for redacted rows. */
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
  /** Identifies the row within its update, e.g. `exercise 3`, or the contract among the active ones. */
  readonly key: string;
  /** In the order of {@link comparedFields}. */
  readonly fields: readonly (string | null)[];
}

/** Characters that separate the fields of a line, and mark an absent field; no field contains them. */
export const separator = '\u001f';
export const absent = '\u001e';

/** A row from its fields by name. */
export function comparedRow<K extends ComparedKind>(kind: K, key: string, texts: FieldTexts<K>): ComparedRow {
  const names: readonly FieldOf<K>[] = comparedFields[kind];
  return { kind, key, fields: names.map((name) => texts[name]) };
}

/** The compared fields. @param redacted whether the contents are replaced by null */
export function visibleFields({ kind, fields }: ComparedRow, redacted: boolean): readonly (string | null)[] {
  const hidden = redacted ? redactedFields[kind] : undefined;
  if (hidden === undefined) return fields;
  const names: readonly string[] = comparedFields[kind];
  return fields.map((text, index) => (hidden.includes(names[index] ?? '') ? null : text));
}

/** The line whose hash is compared. */
export function lineOf(row: ComparedRow, redacted: boolean): string {
  return visibleFields(row, redacted)
    .map((text) => text ?? absent)
    .join(separator);
}
