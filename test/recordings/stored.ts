/** Reads stored rows as readers do. Postgres prints each relation as JSON, with names instead of numbers. */
import type { Client } from 'pg';
import { asObject, parseJson } from './json.ts';
import type { Row } from './rows.ts';

export interface Relation {
  readonly name: string;
  /** Columns that identify the rows of the relation. */
  readonly key: readonly string[];
  readonly sql: string;
}

/**
 * Columns without facts of the ledger: numbers of dictionaries and party sets, which are replaced by names, notes of
 * the writer about itself, and the lifetime class, by which rows are looked up.
 */
export const internalColumns: ReadonlySet<string> = new Set([
  'synchronizer_pk',
  'template_pk',
  'choice_pk',
  'interface_pk',
  'source_pk',
  'target_pk',
  'parties_pk',
  'batch_offset',
  'class',
  'epoch',
  'indexed_at',
  'recorded_at',
  'filter_hash',
]);
const id = (alias: string): string =>
  `${alias}.package_id || ':' || ${alias}.module_name || ':' || ${alias}.entity_name`;

/** The tables that the writer fills. */
export const tables: readonly Relation[] = [
  {
    name: 'updates',
    key: ['offset'],
    sql: 'select u.*, s.synchronizer_id from ledger.decoded_updates u left join ledger.synchronizers s using (synchronizer_pk)',
  },
  {
    name: 'contracts',
    key: ['contract_id', 'offset'],
    sql: `select c.*, s.synchronizer_id, ${id('t')} as template_id, t.package_name from ledger.decoded_contracts c
      left join ledger.synchronizers s using (synchronizer_pk) left join ledger.templates t using (template_pk)`,
  },
  {
    name: 'exercises',
    key: ['offset', 'node_id'],
    sql: `select e.*, h.choice, ${id('t')} as template_id, t.package_name, ${id('i')} as interface_id
      from ledger.decoded_exercises e left join ledger.templates t using (template_pk)
      left join ledger.choices h on h.choice_pk = e.choice_pk and h.template_pk = e.template_pk
      left join ledger.templates i on i.template_pk = h.interface_pk`,
  },
  {
    name: 'archives',
    key: ['offset', 'node_id'],
    sql: `select a.*, ${id('t')} as template_id, t.package_name
      from ledger.decoded_archives a left join ledger.templates t using (template_pk)`,
  },
  {
    name: 'interface_views',
    key: ['contract_id', 'offset', 'interface_id'],
    sql: `select v.*, ${id('i')} as interface_id
      from ledger.decoded_interface_views v left join ledger.templates i on i.template_pk = v.interface_pk`,
  },
  {
    name: 'template_interfaces',
    key: ['template_id', 'interface_id'],
    sql: `select ${id('t')} as template_id, ${id('i')} as interface_id from ledger.template_interfaces m
      left join ledger.templates t using (template_pk) left join ledger.templates i on i.template_pk = m.interface_pk`,
  },
  {
    name: 'reassignments',
    key: ['contract_id', 'offset', 'kind'],
    sql: `select r.*, a.synchronizer_id as source, b.synchronizer_id as target, ${id('t')} as template_id, t.package_name
      from ledger.decoded_reassignments r left join ledger.templates t using (template_pk)
      left join ledger.synchronizers a on a.synchronizer_pk = r.source_pk
      left join ledger.synchronizers b on b.synchronizer_pk = r.target_pk`,
  },
  { name: 'topology_events', key: ['offset', 'event_index'], sql: 'select * from ledger.topology_events' },
  {
    name: 'lifetimes',
    key: ['contract_id', 'synchronizer_id', 'activated_offset'],
    sql: `select l.*, s.synchronizer_id, ${id('t')} as template_id from ledger.lifetimes l
      left join ledger.synchronizers s using (synchronizer_pk) left join ledger.templates t using (template_pk)`,
  },
  {
    name: 'templates',
    key: ['template_id'],
    sql: `select ${id('t')} as template_id, t.package_name, coalesce(n.activated, 0) as activated,
      coalesce(n.deactivated, 0) as deactivated from ledger.templates t left join ledger.active_counts n using (template_pk)`,
  },
  { name: 'synchronizers', key: ['synchronizer_id'], sql: 'select synchronizer_id from ledger.synchronizers' },
  {
    name: 'choices',
    key: ['template_id', 'interface_id', 'choice'],
    sql: `select ${id('t')} as template_id, ${id('i')} as interface_id, h.choice,
      h.interface_pk = 0 as own from ledger.choices h
      left join ledger.templates t using (template_pk) left join ledger.templates i on i.template_pk = h.interface_pk`,
  },
  {
    name: 'activity_hourly',
    key: ['hour', 'template_id', 'interface_id', 'choice', 'synchronizer_id'],
    sql: `select a.*, ${id('t')} as template_id, ${id('i')} as interface_id, h.choice, s.synchronizer_id,
      a.template_pk = 0 as of_all, a.choice_pk = 0 as of_none
      from ledger.activity_hourly a left join ledger.templates t using (template_pk)
      left join ledger.choices h on h.choice_pk = a.choice_pk and h.template_pk = a.template_pk
      left join ledger.templates i on i.template_pk = h.interface_pk
      left join ledger.synchronizers s using (synchronizer_pk)`,
  },
  { name: 'coverage', key: ['from_offset'], sql: 'select * from ledger.coverage' },
  { name: 'quarantine', key: ['offset'], sql: 'select "offset" from ledger.quarantine' },
  {
    name: 'stream',
    key: [],
    sql: `select participant_id, transaction_shape, seed_offset, seed_contracts, checkpoint, checkpoint_update_offset,
      checkpoint_update_id, checkpoint_record_time, record_times from ledger.stream`,
  },
];

const views: readonly Relation[] = [
  { name: 'explore.updates', key: ['offset'], sql: 'select * from explore.updates' },
  { name: 'explore.contracts', key: ['contract_id', 'created_at_offset'], sql: 'select * from explore.contracts' },
  {
    name: 'explore.active_contracts',
    key: ['contract_id', 'synchronizer_id'],
    sql: 'select * from explore.active_contracts',
  },
  { name: 'explore.exercises', key: ['offset', 'node_id'], sql: 'select * from explore.exercises' },
  {
    name: 'explore.interface_views',
    key: ['contract_id', 'offset', 'interface_fqn'],
    sql: 'select * from explore.interface_views',
  },
  { name: 'explore.reassignments', key: ['contract_id', 'offset', 'kind'], sql: 'select * from explore.reassignments' },
  { name: 'explore.events', key: ['offset', 'node_id', 'event_type'], sql: 'select * from explore.events' },
];

/** All tables, all views, and the active contracts right after each offset. */
export function relations(offsets: readonly number[]): readonly Relation[] {
  const pastQueries = offsets.map((offset) => ({
    name: activeAtName(offset),
    key: ['contract_id', 'synchronizer_id'],
    sql: `select * from explore.active_at(${String(offset)})`,
  }));
  return [...tables, ...views, ...pastQueries];
}

export const activeAtName = (offset: number): string => `explore.active_at(${String(offset)})`;

/** The rows of a relation without the internal columns. Numbers and times are texts as Postgres prints them. */
export async function readRelation(client: Client, { sql }: Relation): Promise<readonly Row[]> {
  const { rows } = await client.query<{ row: string }>(`select row_to_json(r)::text as row from (${sql}) r`);
  return rows.map(({ row }) =>
    Object.fromEntries([...asObject(parseJson(row)).fields].filter(([column]) => !internalColumns.has(column))),
  );
}
