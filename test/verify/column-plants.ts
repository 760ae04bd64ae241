/** For each kind of rows in docs/reference/verify-columns.md, the row that a test changes, and its new value. */

export interface Rows {
  readonly table: string;
  /** SQL condition that selects the rows. If absent, all rows of the table are selected. */
  readonly where?: string;
  /** SQL that creates rows in other tables that the change needs. */
  readonly setUp?: string;
}

const seedOffset = '(select seed_offset from stream)';

/** A stream that was seeded twice. The first range ends before the gap. */
const twoRanges = `
  insert into coverage (from_offset, to_offset, origin, filter_hash, transaction_shape)
    values (1, 2, 'seed', 'of old', 'LEDGER_EFFECTS');
  update coverage set origin = 'reseed', reason = 'a gap' where to_offset is null`;

/** A stream that was switched to another participant at its checkpoint. */
const twoParticipants = `
  insert into participants (participant_number, participant_id, from_offset, offset_shift, overlap_to_offset) values (1, 'the one before', 0, 0, 0);
  insert into participants (participant_number, participant_id, from_offset, offset_shift, overlap_to_offset, common_offset, common_update_id, reason)
    select 2, participant_id, checkpoint, 0, checkpoint, checkpoint_update_offset, checkpoint_update_id, 'compared' from stream`;

const kinds: Readonly<Record<string, Rows>> = {
  'contracts of updates': { table: 'contracts', where: `origin <> 's'` },
  'contracts of a seed': {
    table: 'contracts',
    where: `origin = 's' and exists (select from live l where l."offset" = t."offset" and l.node_id = t.node_id)`,
  },
  'contract_parties of updates': {
    table: 'contract_parties',
    where: `parties_pk in (select parties_pk from contracts where origin <> 's')`,
  },
  'contract_parties of a seed': {
    table: 'contract_parties',
    where: `parties_pk in (select c.parties_pk from contracts c join live l using ("offset", node_id))
            and parties_pk not in (select parties_pk from contracts where origin <> 's')`,
  },
  event_parties: { table: 'event_parties', where: 'parties_pk in (select parties_pk from exercises)' },
  'ended by an archive': { table: 'ended', where: `ended_by = 'a'` },
  'ended by a reassignment': { table: 'ended', where: `ended_by = 'r' and "offset" > ${seedOffset}` },
  'ended, in flight at a seed': { table: 'ended', where: `ended_by = 'r' and "offset" <= ${seedOffset}` },
  'ended, witnessed only': { table: 'ended', where: `ended_by = 'w'` },
  'interface_views of updates': { table: 'interface_views', where: `"offset" > ${seedOffset}` },
  'interface_views of a seed': { table: 'interface_views', where: `"offset" <= ${seedOffset}` },
  'reassignments of updates': { table: 'reassignments', where: 'not incomplete' },
  'reassignments in flight at a seed': { table: 'reassignments', where: 'incomplete' },
  'coverage, the open range': { table: 'coverage' },
  'coverage, a closed range': { table: 'coverage', where: 'to_offset is not null', setUp: twoRanges },
  participants: { table: 'participants', where: 'participant_number = 2', setUp: twoParticipants },
  'activity_hourly of templates': { table: 'activity_hourly', where: 'template_pk > 0' },
  'activity_hourly of updates': { table: 'activity_hourly', where: 'template_pk = 0 and paid_traffic_cost > 0' },
  'completions, accepted': { table: 'completions', where: 'status_code = 0' },
  'completions, rejected': { table: 'completions', where: 'status_code <> 0' },
  // Unreferenced dictionary entries can have any name.
  templates: { table: 'templates', where: 'template_pk in (select template_pk from contracts)' },
  choices: { table: 'choices', where: 'choice_pk in (select choice_pk from exercises) and interface_pk > 0' },
  synchronizers: { table: 'synchronizers', where: 'synchronizer_pk in (select synchronizer_pk from live)' },
  packages: {
    table: 'packages',
    where: 'package_id in (select package_id from templates where package_name is not null)',
  },
  exercises: { table: 'exercises', where: 'redaction_id is null' },
  template_interfaces: {
    table: 'template_interfaces',
    where: `exists (select from interface_views v join contracts c using ("offset", node_id)
                     where v.interface_pk = t.interface_pk and c.template_pk = t.template_pk)`,
  },
};

/** The rows with this name in the document. A table with only one kind of rows has the name of the table. */
export function rowsOf(name: string): Rows {
  return kinds[name] ?? { table: name };
}

/** SQL of a different value, by column type. */
const otherValues: Readonly<Record<string, (column: string) => string>> = {
  int2: (column) => `${column} + 1`,
  int4: (column) => `coalesce(${column}, 0) + 1000003`,
  int8: (column) => `coalesce(${column}, 0) + 1000003`,
  float8: (column) => `${column} + 1`,
  numeric: (column) => `coalesce(${column}, 0) + 1`,
  text: (column) => `coalesce(${column}, '') || 'x'`,
  bool: (column) => `${column} is not true`,
  json: () => `'{"planted": 1}'`,
  jsonb: () => `'{"planted": 1}'`,
  timestamptz: (column) => `coalesce(${column}, now()) + interval '1 second'`,
  xid8: () => `'1'::xid8`,
  _text: (column) => `${column} || '{planted}'`,
  _numeric: (column) => `${column} || 1::numeric`,
  interval: (column) => `coalesce(${column}, '0') + interval '1 day'`,
  bytea: (column) => `coalesce(${column}, '') || '\\x00'`,
  int8range: () => `'[7,8)'`,
  int8multirange: () => `'{[7,8)}'`,
};

/** The dictionary of a column that refers to a dictionary entry. */
const entries: Readonly<Record<string, string>> = {
  template_pk: 'templates d (pk)',
  interface_pk: 'templates d (pk)',
  choice_pk: 'choices d (pk)',
  synchronizer_pk: 'synchronizers d (pk)',
  source_pk: 'synchronizers d (pk)',
  target_pk: 'synchronizers d (pk)',
};
const dictionaries: readonly string[] = ['templates', 'choices', 'synchronizers'];
/** Tables with one row per dictionary entry. */
const keyed: readonly string[] = [
  'active_counts',
  'omitted_fields',
  'template_interfaces',
  'activity_hourly',
  'choices',
];

/** SQL of the different value for columns to which the rule of their type does not apply. */
const columnValues: Readonly<Record<string, string>> = {
  'stream.checkpoint': 'checkpoint - 1',
  'stream.epoch': '0',
  'stream.record_times': `(select jsonb_object_agg(key, '2001-01-01T00:00:00Z') from jsonb_each(record_times))`,
  'updates.kind': `case kind when 't' then 'u'::"char" else 't' end`,
  'batches.epoch': 'epoch + 1',
  'contracts of updates.origin': `case origin when 'c' then 'a'::"char" else 'c' end`,
  'contracts of a seed.origin': `'c'`,
  'ended by an archive.ended_by': `'r'`,
  'ended by a reassignment.ended_by': `'a'`,
  'ended, in flight at a seed.ended_by': `'e'`,
  'ended, witnessed only.ended_by': `'a'`,
  'reassignments of updates.kind': `case kind when 'a' then 'u'::"char" else 'a' end`,
  'reassignments in flight at a seed.kind': `case kind when 'a' then 'u'::"char" else 'a' end`,
  'coverage, the open range.origin': `'offset'`,
  'coverage, a closed range.origin': `'genesis'`,
  'coverage, a closed range.from_offset': 'to_offset + 1',
  'coverage, a closed range.to_offset': '1000003',
  'coverage, the open range.transaction_shape': `'ACS_DELTA'`,
  'packages.model': `model || '{"name": "planted"}'`,
  'quarantine.epoch': 'epoch + 1000',
  'redactions.subject': `case subject when 'party' then 'contract' else 'party' end`,
  'stream.transaction_shape': `'ACS_DELTA'`,
  'typed_views.kind': `case kind when 'choice' then 'template' else 'choice' end`,
  'stream.filter': `filter || '{"createdEventBlobs": false}'`,
  'verifications.kind': `'range'`,
  'verifications.outcome': `'undecided'`,
};

/** SQL of changes that look like valid history, for columns whose other changes are detected. */
export const validChanges: Readonly<Record<string, string>> = {
  'stream.checkpoint': 'checkpoint + 1',
  'stream.epoch': 'epoch + 1',
  'stream.record_times': `record_times || (select jsonb_build_object(key, '2026-06-01T00:00:00Z') from jsonb_each_text(record_times)
                                            where value < '2026-06-01' limit 1)`,
  // The row belongs to the first batch, so there is no earlier epoch.
  'batches.epoch': 'epoch - 1',
  'stream.pruned_to_offset': 'seed_offset + 5',
  'coverage, a closed range.from_offset': 'from_offset - 1',
  'coverage, a closed range.to_offset': 'to_offset + 1',
  'coverage, a closed range.origin': `'oldest'`,
  'completion_ranges.from_offset': 'from_offset - 1',
  // The command at the end of the history has no completion.
  'completion_ranges.to_offset': 'to_offset - 1',
  'packages.model': `model || '{"planted": 1}'`,
  'quarantine.epoch': 'epoch - 1',
  'interface_views of updates.implementation_package_id': `repeat('ef', 32)`,
};

/** The statement that changes one column of one row, preferably of a row where the column is not null. */
export function plantedSql(name: string, column: string, type: string, value?: string): string {
  const { table, where: condition = 'true' } = rowsOf(name);
  const quotedColumn = `"${column}"`;
  const plantedValue =
    value ?? columnValues[`${name}.${column}`] ?? otherEntry(table, column) ?? otherValues[type]?.(quotedColumn);
  if (plantedValue === undefined) throw new Error(`no other value of type ${type}: add it to otherValues`);
  const row = `select t.ctid from ${table} t where ${condition} order by t.${quotedColumn} is null, t.ctid limit 1`;
  return `update ${table} set ${quotedColumn} = ${plantedValue} where ctid = (${row})`;
}

/** The dictionary and the list by which the party set of a row is compared. */
const listColumns: Readonly<Record<string, readonly [dictionary: string, list: string]>> = {
  contracts: ['contract_parties', 'signatories'],
  live: ['contract_parties', 'signatories'],
  ended: ['contract_parties', 'signatories'],
  exercises: ['event_parties', 'witness_parties'],
  archives: ['event_parties', 'witness_parties'],
  reassignments: ['event_parties', 'witness_parties'],
};

function otherEntry(table: string, column: string): string | undefined {
  const [dictionary, list] = (column === 'parties_pk' ? listColumns[table] : undefined) ?? [];
  if (dictionary !== undefined && list !== undefined) {
    return `(select d.parties_pk from ${dictionary} d join ${dictionary} o on o.parties_pk = ${table}.parties_pk
              where d.${list} <> o.${list} order by 1 limit 1)`;
  }
  const from = entries[column];
  if (from === undefined || dictionaries.includes(table) || keyed.includes(table)) return undefined;
  return `(select d.pk from ${from} where d.pk <> ${table}."${column}" order by d.pk limit 1)`;
}
