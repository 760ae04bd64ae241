/**
 * Stored rows in the words of `model/compared-rows.ts`, as SQL. The line of a row is its fields joined, its digest the
 * SHA-256 of the line: what the ledger sends is put into the same line elsewhere and must have the same digest.
 */
import {
  absent,
  comparedFields,
  partyLists,
  redactedFields,
  separator,
  type ComparedKind,
  type FieldOf,
} from '../../model/compared-rows.ts';

type FieldSql<K extends ComparedKind> = Readonly<Record<FieldOf<K>, string>>;

const json = (column: string): string =>
  `case when ${column} ->> '$escaped' is not null and ${column} - '$escaped' = '{}'
        then 'raw:' || (${column} ->> '$escaped') else ${column}::text end`;
/** Kept as it came: the ledger's text, or in our escape. Nothing else begins like that. */
const asSent = (column: string): string =>
  `case when starts_with(${column}::text, '{"$escaped":') then ${column} ->> '$escaped' else ${column}::text end`;
const micros = (column: string): string => `(extract(epoch from ${column}) * 1000000)::bigint::text`;
/**
 * A set: a participant that was restarted lists the parties of an event in another order, and a filter its interfaces. Most have
 * one member, which needs no sorting.
 */
const set = (column: string): string =>
  `case when cardinality(${column}) = 1 then array_to_json(${column})::text
        else coalesce((select json_agg(p.name order by p.name collate "C") from unnest(${column}) p (name)), '[]')::text end`;
/** The text of a create with one of its lists of parties as a set, as `plain-active.ts` writes it. */
const withSet = (text: string, list: string): string => {
  const parties = `r.created_event -> '${list}'`;
  const sorted = set(`array(select jsonb_array_elements_text(${parties}))`);
  return `case when jsonb_typeof(${parties}) = 'array'
               then replace(${text}, '"${list}": ' || (${parties})::text, '"${list}": ' || ${sorted}) else ${text} end`;
};
const templateName = (alias: string): string =>
  `${alias}.package_id || ':' || ${alias}.module_name || ':' || ${alias}.entity_name`;

const active: FieldSql<'active'> = {
  synchronizer: 's.synchronizer_id',
  offset: 'l.activated_offset::text',
  template: templateName('t'),
  payload: json('c.payload'),
  contract_key: json('c.contract_key'),
  signatories: set('c.signatories'),
  observers: set('c.observers'),
  created_at: micros('c.created_at'),
  reassignment_counter: 'coalesce(c.reassignment_counter, 0)::text',
};

const seeded: FieldSql<'seeded'> = {
  ...active,
  node_id: 'c.node_id::text',
  // Releases before 3.4 say neither; then it is the package of the template, and the list is what changes the set.
  representative_package_id: 'coalesce(c.representative_package_id, t.package_id)',
  acs_delta: 'coalesce(c.acs_delta, true)::text',
  contract_key_hash: 'c.contract_key_hash',
  witness_parties: set('c.witness_parties'),
  created_event_blob: 'c.created_event_blob',
  workflow_id: 'c.workflow_id',
};

const update: FieldSql<'update'> = {
  kind: 'r.kind',
  update_id: 'r.update_id',
  synchronizer: 's.synchronizer_id',
  command_id: 'r.command_id',
  workflow_id: 'r.workflow_id',
  effective_at: micros('r.effective_at'),
  record_time: micros('r.record_time'),
  trace_parent: 'r.trace_parent',
  trace_state: 'r.trace_state',
  external_transaction_hash: 'r.external_transaction_hash',
  transaction_hash: 'r.transaction_hash',
  paid_traffic_cost: 'r.paid_traffic_cost::text',
  event_count: 'r.event_count::text',
  raw: asSent('r.raw'),
};

const contract: FieldSql<'contract'> = {
  node_id: 'r.node_id::text',
  origin: 'r.origin',
  synchronizer: 's.synchronizer_id',
  template: templateName('t'),
  representative_package_id: 'r.representative_package_id',
  payload: json('r.payload'),
  contract_key: json('r.contract_key'),
  contract_key_hash: 'r.contract_key_hash',
  signatories: set('r.signatories'),
  observers: set('r.observers'),
  witness_parties: set('r.witness_parties'),
  created_event_blob: 'r.created_event_blob',
  created_at: micros('r.created_at'),
  acs_delta: 'r.acs_delta::text',
  reassignment_counter: 'r.reassignment_counter::text',
};

const view: FieldSql<'view'> = {
  view: json('r.view'),
  status_code: 'r.status_code::text',
  status_message: 'r.status_message',
  status_details: json('r.status_details'),
  implementation_package_id: 'r.implementation_package_id',
};

const exercise: FieldSql<'exercise'> = {
  contract_id: 'r.contract_id',
  template: templateName('t'),
  interface: templateName('i'),
  choice: 'h.choice',
  argument: json('r.argument'),
  result: json('r.result'),
  acting_parties: set('r.acting_parties'),
  witness_parties: set('r.witness_parties'),
  consuming: 'r.consuming::text',
  last_descendant_node_id: 'r.last_descendant_node_id::text',
  implemented_interfaces: set('r.implemented_interfaces'),
  acs_delta: 'r.acs_delta::text',
};

const archive: FieldSql<'archive'> = {
  contract_id: 'r.contract_id',
  template: templateName('t'),
  witness_parties: set('r.witness_parties'),
  implemented_interfaces: set('r.implemented_interfaces'),
};

const reassignment: FieldSql<'reassignment'> = {
  node_id: 'r.node_id::text',
  template: templateName('t'),
  reassignment_id: 'r.reassignment_id',
  source: 's.synchronizer_id',
  target: 'g.synchronizer_id',
  submitter: 'r.submitter',
  reassignment_counter: 'r.reassignment_counter::text',
  assignment_exclusivity: micros('r.assignment_exclusivity'),
  witness_parties: set('r.witness_parties'),
};

const inFlight: FieldSql<'in_flight'> = {
  ...reassignment,
  created_event: partyLists.reduce(withSet, json('r.created_event')),
  workflow_id: 'r.workflow_id',
};

const topology: FieldSql<'topology'> = {
  kind: 'r.kind',
  party_id: 'r.party_id',
  participant_id: 'r.participant_id',
  participant_permission: 'r.participant_permission',
  raw: asSent('r.raw'),
};

const fieldSql: { readonly [K in ComparedKind]: FieldSql<K> } = {
  active,
  seeded,
  in_flight: inFlight,
  update,
  contract,
  view,
  exercise,
  archive,
  reassignment,
  topology,
};

/** The fields of a kind as SQL, in their order. `redaction`: the column that is not null in redacted rows. */
export function fieldExpressions(kind: ComparedKind, redaction?: string): readonly string[] {
  const texts: Readonly<Record<string, string>> = fieldSql[kind];
  return comparedFields[kind].map((name) => {
    const text = texts[name] ?? 'null';
    const hidden = redaction !== undefined && redactedFields[kind]?.includes(name) === true;
    return hidden ? `case when ${redaction} is null then ${text} end` : text;
  });
}

const escaped = (character: string): string => `E'\\x${character.charCodeAt(0).toString(16)}'`;

/** SHA-256 of the line of a row, as bytea. */
export function lineDigest(expressions: readonly string[]): string {
  const texts = expressions.map((text) => `coalesce(${text}, ${escaped(absent)})`);
  return `sha256(convert_to(concat_ws(${escaped(separator)}, ${texts.join(', ')}), 'UTF8'))`;
}

/** Joins of the dictionaries that the fields of a kind name. */
export const templateJoin = 'left join templates t on t.template_pk = r.template_pk';
