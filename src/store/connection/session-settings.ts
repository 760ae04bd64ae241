/**
 * Settings that every session relies on and sets explicitly: defaults of the server, the database or the role may
 * differ. Choices of the operator (synchronous_commit, work_mem, tablespaces, a role to work as) are not changed.
 */
import { escapeIdentifier } from 'pg';

/** Name and value, as set_config takes them. */
export type Setting = readonly [name: string, value: string];

/**
 * The same few statements run repeatedly, each for a few rows of large tables. Their plans are made once, for tables
 * that have grown: statistics of the first minute, when all tables are small, would lead to plans with long scans. A
 * disabled plan node has a huge cost, for which a server with LLVM would compile every plan.
 */
const planning: readonly Setting[] = [
  ['plan_cache_mode', 'force_generic_plan'],
  ['enable_seqscan', 'off'],
  ['enable_hashjoin', 'off'],
  ['enable_mergejoin', 'off'],
  ['enable_nestloop', 'on'],
  ['enable_indexscan', 'on'],
  ['enable_indexonlyscan', 'on'],
  ['enable_bitmapscan', 'on'],
  ['jit', 'off'],
];

/** How texts are read and written, and the meaning of a statement. */
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
  // A refused statement returns an error, which says more than a closed session.
  ['exit_on_error', 'off'],
  ['default_table_access_method', 'heap'],
  // A session that waited for a lock must see what its holder has committed.
  ['default_transaction_isolation', 'read committed'],
  ['default_transaction_deferrable', 'off'],
];

export interface SessionLimits {
  /** Limit of one statement, milliseconds. */
  readonly statementTimeoutMs: number;
  /** Limit of waiting for a lock, milliseconds. */
  readonly lockTimeoutMs: number;
  /** The server ends a transaction that is idle for this long, milliseconds. */
  readonly idleInTransactionMs: number;
  /** The server ends a session that is idle for this long, milliseconds; 0: never. */
  readonly idleSessionMs: number;
}

/** All settings of a session, set before anything is run. @param schema schema of all unqualified names */
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

/** SQL: whether the database has Citus, whose catalog exists only then. */
export const hasCitus = `to_regclass('pg_catalog.pg_dist_partition') is not null`;

/**
 * For distributed tables, a plan must know the values: they determine the worker, and Citus makes no plan without them.
 * The planner settings above apply on the coordinator; workers plan their parts with their own settings.
 */
export const planDistributed = `
select set_config('plan_cache_mode', 'force_custom_plan', false)
  from pg_dist_partition where logicalrelid = to_regclass('updates')`;

/** A seed, a COPY or a verify may take any time. */
const noTransactionTimeout: Setting = ['transaction_timeout', '0'];

/** Settings of later versions: not set on servers that lack them. The server check reports a server that is too old. */
const later: ReadonlySet<string> = new Set(['idle_session_timeout', 'transaction_timeout']);

/**
 * By query instead of startup parameters: poolers refuse unknown parameters, and an `options=` in the URL would replace
 * ours. @param columns further columns of the one row returned
 */
export function setUpQuery(
  settings: readonly Setting[],
  ...columns: readonly string[]
): { text: string; values: string[] } {
  const all = [...settings, noTransactionTimeout];
  const calls = all.map(([name], index) => {
    const [ofName, ofValue] = [`$${String(2 * index + 1)}`, `$${String(2 * index + 2)}`];
    const call = `set_config(${ofName}, ${ofValue}, false)`;
    return later.has(name) ? `case when current_setting(${ofName}, true) is not null then ${call} end` : call;
  });
  return { text: `select ${[...calls, ...columns].join(', ')}`, values: all.flat() };
}
