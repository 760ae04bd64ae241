/**
 * What the benchmark of the write path knows of the tables of the storage, all of it: a change of the layout is a change
 * of this file. Rows are otherwise found by the catalogue or read through the views of schema `explore`, whose columns
 * do not change.
 */
import { preloadedPerActive } from './replay/recording.ts';

/** In a migrated schema already; belongs to no run. */
export const notOfTheRun: readonly string[] = ['schema_migrations'];

/** What tells of the process that wrote, and differs from run to run. */
export const volatileColumns: Readonly<Record<string, readonly string[]>> = {
  stream: ['epoch', 'writer', 'seeded_at', 'ledger_end', 'pruned_offset', 'seed_token'],
  updates: ['epoch', 'indexed_at'],
  schema_migrations: ['applied_at'],
  coverage: ['recorded_at'],
};

/** The tables whose rows are counted after a run, by what they hold. */
export const counted = { updates: 'updates', contracts: 'contracts', exercises: 'exercises' } as const;

/** How far the stream is; search path of the storage. */
export const progressSql =
  'select checkpoint, seeded_at is not null as seeded, seed_contracts as entries from stream limit 1';

/** Offsets before those of the stream, which begins at 1. `n` counts from 1. */
const offsetSql = 'n - 1000000000';

/**
 * Tables of contracts that are there before the stream begins, and the SQL of each column; a column that is not named
 * stays null. `id` is the contract's id, `n` its number; one of `preloadedPerActive` is active. `where` leaves rows out.
 */
export const preloadedTables: readonly PreloadedTable[] = [
  {
    table: 'contracts',
    columns: {
      contract_id: 'id',
      offset: offsetSql,
      node_id: '0',
      origin: `'create'`,
      synchronizer_pk: '1',
      template_pk: '1',
      payload: `'{"owner":"preloaded"}'`,
      signatories: `'{}'`,
      observers: `'{}'`,
      witness_parties: `'{}'`,
      created_at: `timestamptz '2026-01-01'`,
      acs_delta: 'true',
    },
  },
  {
    table: 'lifetimes',
    columns: {
      contract_id: 'id',
      synchronizer_pk: '1',
      activated_offset: offsetSql,
      template_pk: '1',
      deactivated_offset: `case when n % ${String(preloadedPerActive)} = 0 then null else ${offsetSql} + 1 end`,
    },
  },
];

export interface PreloadedTable {
  readonly table: string;
  readonly columns: Readonly<Record<string, string>>;
  readonly where?: string;
}

/** The entries of dictionaries that those rows refer to; the indexer goes on numbering after them. */
export const preloadedDictionaries = {
  synchronizer: 'insert into synchronizers (synchronizer_pk, synchronizer_id) values (1, $1)',
  template: `insert into templates (template_pk, package_id, module_name, entity_name, package_name)
             values (1, $1, $2, $3, $4)`,
} as const;

/** A stream that was seeded at offset 0: an unseeded one would be emptied first. */
export const preloadedStream = `insert into stream (filter, filter_hash, transaction_shape, seed_offset, seeded_at, checkpoint)
  values ($1, $2, $3, 0, now(), 0)`;
