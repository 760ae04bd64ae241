/**
 * What every session of ours relies on, set by itself: defaults of the server, the database or the role may be anything.
 * What is a choice of the operator (synchronous_commit, work_mem, tablespaces, a role to work as) is left as it is.
 */
import { escapeIdentifier } from 'pg';

/** Name and value, as set_config takes them. */
export type Setting = readonly [name: string, value: string];

/**
 * The same few statements run for ever, each for a few rows of large tables. Their plans are made once, and for tables
 * that have grown: statistics of the first minute, when everything is small, would choose scans that never end. What is
 * switched off here counts as a cost beyond all measure, for which a server with LLVM would compile every plan.
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

/** How texts are read and written, and what a statement means. */
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
  // A statement that is refused is answered for, and says more than a session that is gone.
  ['exit_on_error', 'off'],
  ['default_table_access_method', 'heap'],
  // Whoever waited for a lock must see what its holder has committed.
  ['default_transaction_isolation', 'read committed'],
  ['default_transaction_deferrable', 'off'],
];

export interface SessionLimits {
  /** Limit of one statement, milliseconds. */
  readonly statementTimeoutMs: number;
  /** Limit of waiting for a lock, milliseconds. */
  readonly lockTimeoutMs: number;
  /** The server ends a transaction in which nothing happens for so long, milliseconds. */
  readonly idleInTransactionMs: number;
  /** The server ends a session in which nothing happens for so long, milliseconds; 0: never. */
  readonly idleSessionMs: number;
}

/** Everything a session sets before anything else. @param schema the one that every unqualified name refers to */
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

/** SQL: whether the database has Citus, whose catalog is there only then. */
export const hasCitus = `to_regclass('pg_catalog.pg_dist_partition') is not null`;

/**
 * Where the tables are distributed, a plan has to know the values: they say which worker is asked, and Citus makes no plan
 * without. What is switched off above holds on the coordinator; workers plan their parts as they are set up to.
 */
export const planDistributed = `
select set_config('plan_cache_mode', 'force_custom_plan', false)
  from pg_dist_partition where logicalrelid = to_regclass('updates')`;

/** A seed, a COPY or a verify takes as long as it takes. */
const noTransactionTimeout: Setting = ['transaction_timeout', '0'];

/** Of later versions: not set where there are none. A server that is too old is told so by the server check, not here. */
const later: ReadonlySet<string> = new Set(['idle_session_timeout', 'transaction_timeout']);

/**
 * By query instead of startup parameters: poolers refuse unknown parameters, and an `options=` in the URL would replace
 * ours. @param columns further columns of the one row that is answered
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
