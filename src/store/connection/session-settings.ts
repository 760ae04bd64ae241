/**
 * Settings that every session relies on. They are set explicitly, because the defaults of the server, the database or
 * the role may differ. Settings that operators choose are not changed: synchronous_commit, work_mem, tablespaces, and
 * the role of the session.
 */
import { escapeIdentifier } from 'pg';

/** Name and value, as passed to set_config. */
export type Setting = readonly [name: string, value: string];

/**
 * The same few statements run repeatedly, each for a few rows of large tables. Their plans are made once and must also
 * suit large tables. In the first minute all tables are small, and plans based on these statistics would later scan
 * large tables. A materialized range would be read once for each row of the other side, instead of an index. Disabled
 * plan nodes have a huge cost, so a server with LLVM would compile every plan.
 */
const planning: readonly Setting[] = [
  ['plan_cache_mode', 'force_generic_plan'],
  ['enable_seqscan', 'off'],
  ['enable_hashjoin', 'off'],
  ['enable_mergejoin', 'off'],
  ['enable_material', 'off'],
  ['enable_nestloop', 'on'],
  ['enable_indexscan', 'on'],
  ['enable_indexonlyscan', 'on'],
  ['enable_bitmapscan', 'on'],
  ['jit', 'off'],
];

/** Settings that determine the format of texts and the meaning of statements. */
const meaning: readonly Setting[] = [
  ['datestyle', 'ISO, MDY'],
  ['intervalstyle', 'postgres'],
  ['timezone', 'UTC'],
  ['extra_float_digits', '1'],
  ['bytea_output', 'hex'],
  ['standard_conforming_strings', 'on'],
  ['array_nulls', 'on'],
  ['transform_null_equals', 'off'],
  ['quote_all_identifiers', 'off'],
  ['row_security', 'on'],
  ['gin_fuzzy_search_limit', '0'],
  // A refused statement returns an error, which is more informative than a closed session.
  ['exit_on_error', 'off'],
  ['default_table_access_method', 'heap'],
  // A session that waited for a lock must see the rows that the previous holder of the lock committed.
  ['default_transaction_isolation', 'read committed'],
  ['default_transaction_deferrable', 'off'],
];

export interface SessionLimits {
  /** Time limit of one statement, milliseconds. */
  readonly statementTimeoutMs: number;
  /** Maximum wait for a lock, milliseconds. */
  readonly lockTimeoutMs: number;
  /** The server ends a transaction that is idle for this long, milliseconds. */
  readonly idleInTransactionMs: number;
  /** The server ends a session that is idle for this long, milliseconds; 0: never. */
  readonly idleSessionMs: number;
}

/** All settings of a session, applied before any other statement. @param schema schema of all unqualified names */
export function sessionSettings(schema: string, limits: SessionLimits): readonly Setting[] {
  return [
    ['search_path', escapeIdentifier(schema)],
    ['statement_timeout', String(limits.statementTimeoutMs)],
    ['lock_timeout', String(limits.lockTimeoutMs)],
    ['idle_in_transaction_session_timeout', String(limits.idleInTransactionMs)],
    ['idle_session_timeout', String(limits.idleSessionMs)],
    ...planning,
    ...meaning,
  ];
}

/** SQL: whether the database has Citus. Its catalog exists only then. */
export const hasCitus = `to_regclass('pg_catalog.pg_dist_partition') is not null`;

/**
 * Plans for distributed tables need the parameter values, which determine the worker. Without the values, Citus makes
 * no plan. The planner settings above apply on the coordinator. Workers plan their parts with their own settings.
 */
export const distributedPlanSettings = `
select set_config('plan_cache_mode', 'force_custom_plan', false)
  from pg_dist_partition where logicalrelid = to_regclass('updates')`;

/** No limit for transactions: a seed, a COPY or a verify may take any time. */
const noTransactionTimeout: Setting = ['transaction_timeout', '0'];

/**
 * Settings that exist only in later versions of Postgres. They are skipped on servers that do not have them. The server
 * check reports a server that is too old.
 */
const newerSettings: ReadonlySet<string> = new Set(['idle_session_timeout', 'transaction_timeout']);

/**
 * One query that applies the settings. Startup parameters are not used: poolers refuse unknown startup parameters, and
 * `options=` in the URL would replace them.
 * @param columns further columns of the one row returned
 */
export function setUpQuery(
  settings: readonly Setting[],
  ...columns: readonly string[]
): { text: string; values: string[] } {
  const allSettings = [...settings, noTransactionTimeout];
  const calls = allSettings.map(([name], index) => {
    const [nameParameter, valueParameter] = [`$${String(2 * index + 1)}`, `$${String(2 * index + 2)}`];
    const call = `set_config(${nameParameter}, ${valueParameter}, false)`;
    return newerSettings.has(name)
      ? `case when current_setting(${nameParameter}, true) is not null then ${call} end`
      : call;
  });
  return { text: `select ${[...calls, ...columns].join(', ')}`, values: allSettings.flat() };
}
