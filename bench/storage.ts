/**
 * The benchmark's knowledge of the storage tables, so that a change of the layout changes only this file. Other code
 * finds rows through the catalog, or reads them through the views of schema `explore`, whose columns do not change.
 */
import { projectedTable, projectionNames } from '../src/model/stream.ts';
import { preloadedPerActive } from './replay/recording.ts';

/** Tables that have rows in every migrated schema, and so do not belong to a run. */
export const excludedTables: readonly string[] = ['schema_migrations'];

/** Columns that depend on the writing process, and differ from run to run. */
export const volatileColumns: Readonly<Record<string, readonly string[]>> = {
  stream: ['epoch', 'writer', 'seeded_at', 'seed_release', 'ledger_end', 'participant_pruned_offset', 'seed_token'],
  updates: ['batch_offset'],
  schema_migrations: ['applied_at'],
  coverage: ['recorded_at'],
};

/**
 * Tables whose rows differ in every run: batch boundaries of the stream, and rows that are written in the background.
 */
export const volatileTables: readonly string[] = [
  'batches',
  'completion_ranges',
  'completions',
  'filter_interfaces',
  'submitters',
  'verifications',
  'jobs',
  'projections',
  'projection_changes',
  ...projectionNames.map(projectedTable),
];

/** The tables whose rows are counted after a run, by their content. */
export const countedTableNames = { updates: 'updates', contracts: 'contracts', exercises: 'exercises' } as const;

/** SQL for the progress of the stream, with the storage schema in the search path. */
export const progressSql =
  'select checkpoint, seeded_at is not null as seeded, seed_contracts as entries from stream limit 1';

/** SQL for offsets before those of the stream, which begins at 1. `n` counts from 1. */
const offsetSql = 'n - 1000000000';

const preloadedState = {
  offset: offsetSql,
  node_id: '0',
  template_pk: '1',
  synchronizer_pk: '1',
  parties_pk: '1',
  contract_id: `decode(id, 'hex')`,
} as const;

/**
 * Tables with contracts that exist before the stream begins, and the SQL of each column; all other columns are null.
 * `id` is the contract's id, `n` its number; one of `preloadedPerActive` is active. `where` excludes rows.
 */
export const preloadedTables: readonly PreloadedTable[] = [
  {
    table: 'contracts',
    columns: {
      offset: offsetSql,
      created_at: `timestamptz '2026-01-01'`,
      node_id: '0',
      template_pk: '1',
      synchronizer_pk: '1',
      parties_pk: '1',
      origin: `'c'`,
      acs_delta: 'true',
      contract_id: `decode(id, 'hex')`,
      payload: `'{"owner":"preloaded"}'`,
    },
  },
  {
    table: 'live',
    columns: { ...preloadedState },
    where: `n % ${String(preloadedPerActive)} = 0`,
  },
  {
    table: 'ended',
    columns: {
      ...preloadedState,
      ended_offset: `${offsetSql} + 1`,
      class: `lifetime_class(${offsetSql}, ${offsetSql} + 1)`,
      ended_by: `'a'`,
      ended_at: `timestamptz '2026-01-01'`,
      ended_node_id: '0',
    },
    where: `n % ${String(preloadedPerActive)} <> 0`,
  },
];

export interface PreloadedTable {
  readonly table: string;
  readonly columns: Readonly<Record<string, string>>;
  readonly where?: string;
}

/** The dictionary entries that those rows refer to. The indexer continues the numbering after them. */
export const preloadedDictionaries = {
  synchronizer: 'insert into synchronizers (synchronizer_pk, synchronizer_id) values (1, $1)',
  template: `insert into templates (template_pk, package_id, module_name, entity_name, package_name)
             values (1, $1, $2, $3, $4)`,
  parties: `insert into contract_parties (parties_pk, signatories, observers, witness_parties) values (1, '{}', '{}', '{}')`,
} as const;

/** SQL for a stream that was seeded at offset 0, because a seed would empty a stream that was not. */
export const preloadedStream = `insert into stream (filter, filter_hash, transaction_shape, seed_offset, seeded_at, checkpoint)
  values ($1, $2, $3, 0, now(), 0)`;
