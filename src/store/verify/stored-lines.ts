/**
 * Stored rows in the notation of `model/compared-rows.ts`, as SQL. A row's fields are joined to a line, and its digest
 * is the SHA-256 of that line. Other code converts data of the ledger to lines in the same way. If both agree, the
 * digests are equal.
 */
import {
  missingValue,
  comparedFields,
  partyListNames,
  redactedFields,
  separator,
  type RowKind,
  type FieldName,
  type JoinedField,
} from '../../model/compared-rows.ts';
import { comparedColumns, type ColumnType } from '../../model/tables.ts';

type JoinedSql<K extends RowKind> = Readonly<Record<JoinedField<K>, string> & Partial<Record<FieldName<K>, string>>>;

const json = (column: string): string =>
  `case when ${column} ->> '$escaped' is not null and ${column} - '$escaped' = '{}'
        then 'raw:' || (${column} ->> '$escaped') else ${column}::text end`;
/**
 * SQL: text that is stored unchanged, as the ledger sent it, or escaped by the indexer. Only escaped text begins with
 * this prefix.
 */
const unescapedText = (column: string): string =>
  `case when starts_with(${column}::text, '{"$escaped":') then ${column} ->> '$escaped' else ${column}::text end`;
const micros = (column: string): string => `(extract(epoch from ${column}) * 1000000)::bigint::text`;
/**
 * SQL: a list as a sorted set. After a restart, a participant may list the parties of an event in another order, and
 * likewise the interfaces of a filter. Most sets have one member, which needs no sorting.
 */
const set = (column: string): string =>
  `case when cardinality(${column}) = 1 then array_to_json(${column})::text
        else coalesce((select json_agg(p.name order by p.name collate "C") from unnest(${column}) p (name)), '[]')::text end`;
/** SQL: the text of a create in which one list of parties is a sorted set, in the format of `plain-active.ts`. */
const sortPartyList = (text: string, list: string): string => {
  const parties = `r.created_event -> '${list}'`;
  const sortedList = set(`array(select jsonb_array_elements_text(${parties}))`);
  return `case when jsonb_typeof(${parties}) = 'array'
               then replace(${text}, '"${list}": ' || (${parties})::text, '"${list}": ' || ${sortedList}) else ${text} end`;
};
const templateName = (alias: string): string =>
  `${alias}.package_id || ':' || ${alias}.module_name || ':' || ${alias}.entity_name`;

const active: JoinedSql<'active'> = {
  synchronizer: 's.synchronizer_id',
  offset: 'l.activated_offset::text',
  template: templateName('t'),
  signatories: set('c.signatories'),
  observers: set('c.observers'),
  reassignment_counter: 'coalesce(c.reassignment_counter, 0)::text',
};

const seeded: JoinedSql<'seeded'> = {
  ...active,
  // Releases before 3.4 return neither field. In that case the package is the package of the template, and every listed
  // contract changes the active contracts.
  representative_package_id: 'coalesce(c.representative_package_id, t.package_id)',
  acs_delta: 'coalesce(c.acs_delta, true)::text',
  witness_parties: set('c.witness_parties'),
};

const update: JoinedSql<'update'> = { synchronizer: 's.synchronizer_id', raw: unescapedText('r.raw') };

const contract: JoinedSql<'contract'> = {
  synchronizer: 's.synchronizer_id',
  template: templateName('t'),
  signatories: set('r.signatories'),
  observers: set('r.observers'),
  witness_parties: set('r.witness_parties'),
};

const exercise: JoinedSql<'exercise'> = {
  template: templateName('t'),
  interface: templateName('i'),
  choice: 'h.choice',
  acting_parties: set('r.acting_parties'),
  witness_parties: set('r.witness_parties'),
  implemented_interfaces: set('r.implemented_interfaces'),
};

const archive: JoinedSql<'archive'> = {
  template: templateName('t'),
  witness_parties: set('r.witness_parties'),
  implemented_interfaces: set('r.implemented_interfaces'),
};

const reassignment: JoinedSql<'reassignment'> = {
  template: templateName('t'),
  source: 's.synchronizer_id',
  target: 'g.synchronizer_id',
  witness_parties: set('r.witness_parties'),
};

const inFlight: JoinedSql<'in_flight'> = {
  ...reassignment,
  created_event: partyListNames.reduce(sortPartyList, json('r.created_event')),
};

/** SQL of fields that are not columns, and of columns with another format than their type has. */
const fieldSql: { readonly [K in RowKind]: JoinedSql<K> } = {
  active,
  seeded,
  in_flight: inFlight,
  update,
  contract,
  view: {},
  exercise,
  archive,
  reassignment,
  topology: { raw: unescapedText('r.raw') },
};

/** SQL: a column of the row in the format that `verify` uses for its type. */
function columnText(alias: string, name: string, type: ColumnType): string {
  const column = `${alias}.${name}`;
  if (type === 'timestamptz') return micros(column);
  if (type === 'json' || type === 'jsonb') return json(column);
  return /^(?:int|bool)/.test(type) ? `${column}::text` : column;
}

/**
 * SQL of the fields of a kind, in order.
 * @param redaction name of the column that is not null in redacted rows
 */
export function fieldExpressions(kind: RowKind, redaction?: string): readonly string[] {
  const texts: Readonly<Record<string, string | undefined>> = fieldSql[kind];
  const columns = comparedColumns(kind);
  const alias = kind === 'active' || kind === 'seeded' ? 'c' : 'r';
  return comparedFields[kind].map((name) => {
    const type = columns[name];
    const text = texts[name] ?? (type === undefined ? 'null' : columnText(alias, name, type));
    const isRedactedField = redaction !== undefined && redactedFields[kind]?.includes(name) === true;
    return isRedactedField ? `case when ${redaction} is null then ${text} end` : text;
  });
}

const escapeCharacter = (character: string): string => `E'\\x${character.charCodeAt(0).toString(16)}'`;

/** SQL: the SHA-256 of the line of a row, as bytea. */
export function lineDigest(expressions: readonly string[]): string {
  const texts = expressions.map((text) => `coalesce(${text}, ${escapeCharacter(missingValue)})`);
  return `sha256(convert_to(concat_ws(${escapeCharacter(separator)}, ${texts.join(', ')}), 'UTF8'))`;
}

/** SQL: join of the dictionary that the fields of a kind refer to. */
export const templateJoin = 'left join templates t on t.template_pk = r.template_pk';
