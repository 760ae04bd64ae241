/**
 * Expected results of a limited reader: a copy of the database without the rows that the model does not allow. Every
 * view and function is read in the copy as the owner, and in the original as the reader. Both must return the same
 * rows.
 */
import { Client, DatabaseError, escapeIdentifier, type ClientBase } from 'pg';
import { projectedTable, projectionNames } from '../../src/model/stream.ts';
import { readSchemas } from '../../src/store/connection/read-schemas.ts';
import type { Random } from '../../packages/ledger-sandbox/src/wire/random.ts';
import { createTestDatabase, query, type TestDatabase } from '../support/database.ts';
import type { Relation } from '../read/reader-attempts.ts';
import type { ModelRow } from './privacy-history.ts';

interface KeyRule {
  /** SQL of the key columns. */
  readonly key: string;
  /**
   * Name of the table in the model; absent if it is the same. Each row of the model is in one of the tables with this
   * name.
   */
  readonly as?: string;
}

function columnList(...columns: readonly string[]): string {
  return columns.map((column) => `array_to_string(${column}, ',')`).join(', ');
}

/** The rows that a limited reader may see, by table. A table without a rule is an error. */
export const rules: Readonly<Record<string, 'all' | 'none' | 'some columns' | KeyRule>> = {
  contracts: { key: `"offset", node_id` },
  live: { key: `"offset", node_id`, as: 'states' },
  ended: { key: `"offset", node_id`, as: 'states' },
  contract_parties: { key: columnList('signatories', 'observers', 'witness_parties') },
  event_parties: { key: columnList('acting_parties', 'witness_parties') },
  interface_views: { key: `"offset", node_id` },
  exercises: { key: `"offset", node_id` },
  archives: { key: `"offset", node_id` },
  reassignments: { key: `"offset", ledger.id_text(contract_id), kind` },
  topology_events: { key: `"offset", event_index` },
  updates: { key: `"offset"` },
  completions: { key: `"offset"` },
  submitters: { key: 'party' },
  party_labels: { key: 'party' },
  instrument_labels: { key: 'admin' },
  completion_ranges: 'some columns',
  stream: 'some columns',
  synchronizers: 'all',
  templates: 'all',
  choices: 'all',
  template_interfaces: 'all',
  packages: 'all',
  omitted_fields: 'all',
  typed_views: 'all',
  typed_columns: 'all',
  coverage: 'all',
  filter_interfaces: 'all',
  participants: 'all',
  batches: 'all',
  schema_migrations: 'all',
  active_counts: 'none',
  projections: 'none',
  projection_changes: 'none',
  history_changes: 'none',
  user_projections: 'none',
  ...Object.fromEntries(projectionNames.map((name) => [projectedTable(name), 'none'])),
  activity_hourly: 'none',
  quarantine: 'none',
  redactions: 'none',
  redacted_contracts: 'none',
  redacted_exercises: 'none',
  verifications: 'none',
  retention_holds: 'none',
  jobs: 'none',
  webhooks: 'none',
  webhook_secrets: 'none',
  webhook_dead_letters: 'none',
  reader_tokens: 'none',
  node_sessions: 'none',
  filter_additions: 'none',
};

/** Hidden columns, which contain the parties of the indexer, or data for further requests to the ledger. */
export const hiddenColumns: Readonly<Record<string, readonly string[]>> = {
  'ledger.stream': ['filter', 'filter_hash', 'seed_token', 'filter_extended_from'],
  'ledger.completion_ranges': ['parties'],
};

/** Runs `work` on a connection with the search path of readers. */
export async function connected<T>(url: string, work: (client: ClientBase) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    const { explore, typed: typedSchema, pqs, storage: storageSchema } = readSchemas('ledger');
    await client.query(`set search_path = ${[explore, typedSchema, pqs, storageSchema].join(', ')}`);
    await client.query(`set default_transaction_read_only = on`);
    return await work(client);
  } finally {
    await client.end();
  }
}

/** Creates a database with the same contents. No session may be connected to the original during the copy. */
export async function copyOf(url: string): Promise<TestDatabase> {
  return createTestDatabase(escapeIdentifier(new URL(url).pathname.slice(1)));
}

/** Keys of the existing rows, by the name of their table in the model. */
export async function keysOf(url: string): Promise<ReadonlyMap<string, readonly string[]>> {
  const keys = new Map<string, readonly string[]>();
  for (const [table, rule] of Object.entries(rules)) {
    if (typeof rule === 'string') continue;
    const rows = await query(url, `select concat_ws(':', ${rule.key}) as key from ledger.${table}`);
    const { as: keyName = table } = rule;
    keys.set(keyName, sortKeys([...(keys.get(keyName) ?? []), ...rows.map(({ key }) => String(key))]));
  }
  return keys;
}

/** Keys of the model rows that at least one of the parties may see. Without parties, keys of all model rows. */
export function allowedRows(rows: readonly ModelRow[], table: string, parties?: readonly string[]): readonly string[] {
  return sortKeys(
    rows
      .filter((row) => row.table === table && (parties === undefined || parties.some((party) => row.seers.has(party))))
      .map(({ key }) => key),
  );
}

/** Removes duplicate keys, because many events have equal party sets. */
function sortKeys(keys: readonly string[]): readonly string[] {
  return [...new Set(keys)].sort();
}

/** Deletes from the copy all rows that the parties may not see. */
export async function removeHidden(url: string, rows: readonly ModelRow[], parties: readonly string[]): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  for (const [table, rule] of Object.entries(rules)) {
    if (rule === 'none') await client.query(`truncate ledger.${table}`);
    if (typeof rule === 'string') continue;
    const key = `concat_ws(':', ${rule.key})`;
    await client.query(`delete from ledger.${table} where not ${key} = any ($1)`, [
      allowedRows(rows, rule.as ?? table, parties),
    ]);
  }
  await client.end();
}

/** Result of a statement: its rows in any order, or its error with all details. */
export async function queryResult(client: ClientBase, sql: string): Promise<readonly string[]> {
  await client.query('begin');
  try {
    const { rows } = await client.query<{ line: string | null }>(sql);
    return rows.map(({ line }) => line ?? 'null').sort();
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error;
    return [`${error.code ?? ''} ${error.message} ${error.hint ?? ''} ${error.detail ?? ''}`];
  } finally {
    await client.query('rollback');
  }
}

/** A statement that selects a relation, without hidden columns. */
export async function selectOf(url: string, { name }: Relation): Promise<string> {
  const hiddenKeys = hiddenColumns[name];
  if (hiddenKeys === undefined) return `select to_jsonb(t)::text as line from ${name} t`;
  const columns = await query(
    url,
    `select quote_ident(attname) as name from pg_attribute
      where attrelid = '${name}'::regclass and attnum > 0 and not attisdropped order by attnum`,
  );
  const openColumns = columns.map((column) => String(column['name'])).filter((column) => !hiddenKeys.includes(column));
  return `select to_jsonb(t)::text as line from (select ${openColumns.join(', ')} from ${name}) t`;
}

interface Callable {
  readonly name: string;
  readonly types: readonly string[];
}

/** Functions that the role may call. */
export async function callables(url: string, role: string): Promise<readonly Callable[]> {
  const names = Object.values(readSchemas('ledger')).map((name) => `'${name}'`);
  return (await query(
    url,
    `select format('%I.%I', n.nspname, p.proname) as name,
            array(select format_type(t, null) from unnest(p.proargtypes::oid[]) with ordinality u (t, n) order by n) as types
       from pg_proc p join pg_namespace n on n.oid = p.pronamespace
      where n.nspname in (${names.join(', ')}) and p.prokind = 'f' and has_function_privilege('${role}', p.oid, 'execute')
      order by 1, p.oid::regprocedure::text`,
  )) as unknown as readonly Callable[];
}

/**
 * Calls with random arguments from the history: own and foreign contracts, names, and offsets inside and outside of it.
 */
export function callsOf({ name, types }: Callable, random: Random, lastOffset: number): readonly string[] {
  const draw = (type: string): string => {
    const values: Readonly<Record<string, readonly string[]>> = {
      text: [
        `'00c${random.between(0, 60)}'`,
        `'iou:Main.Iou:Iou'`,
        `'Iou'`,
        `'Holding'`,
        `'Transfer'`,
        'null',
        `'Iuo'`,
      ],
      bigint: [String(random.between(15, lastOffset + 2)), String(random.between(20, lastOffset)), 'null'],
      integer: ['0', '1'],
      boolean: ['true', 'false'],
      interval: [`'1 millisecond'`],
      'timestamp with time zone': [`'2026-08-14T${random.between(11, 15)}:00Z'`, `'2100-01-01T00:00:00Z'`],
    };
    const list = values[type] ?? ['null'];
    return `${list[random.between(0, list.length - 1)] ?? 'null'}::${type}`;
  };
  const calls = Array.from({ length: types.length === 0 ? 1 : 4 * types.length }, () => types.map(draw).join(', '));
  return [...new Set(calls)].map((list) => `select f::text as line from ${name}(${list}) f`);
}
