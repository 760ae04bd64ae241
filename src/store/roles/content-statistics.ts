/**
 * Statistics of payload contents, which Postgres keeps for each index on an expression. Its planner also uses them for
 * rows that row security hides, so EXPLAIN reveals the most common values to roles that are limited to parties. While
 * such roles exist, no such statistics are kept.
 */
import { escapeIdentifier, type ClientBase, type QueryConfig } from 'pg';
import type { Database } from '../connection/database.ts';
import { shortChange } from '../connection/short-transaction.ts';
import { limitedRoles } from './secure-views.ts';

/** Rebuilding an index on a large table takes long, and the driver cannot disable its time limit for a single query. */
const buildLimitMs = 24 * 60 * 60 * 1000;

/** Names of columns that hold contents. */
const contents = ['payload', 'contract_key', 'argument', 'result', 'view', 'created_event', 'status_message'];

/**
 * SQL: columns of indexes in schema $1 that are expressions over contents, and whether Postgres keeps statistics of
 * them or is set to keep them.
 */
const indexColumns = `
select x.relname::text as index, a.attnum as column, quote_ident(x.relname) as quoted,
       pg_get_indexdef(x.oid) as definition,
       coalesce(a.attstattarget, -1) <> 0 as wanted,
       exists (select from pg_stats s where s.schemaname = n.nspname and s.tablename = x.relname
                  and s.attname = a.attname) as kept
  from pg_index i join pg_class x on x.oid = i.indexrelid join pg_namespace n on n.oid = x.relnamespace
  join pg_attribute a on a.attrelid = x.oid and i.indkey[a.attnum - 1] = 0
 where n.nspname = $1 and i.indisvalid
   and exists (select from pg_depend d join pg_attribute c on c.attrelid = d.refobjid and c.attnum = d.refobjsubid
                where d.classid = 'pg_class'::regclass and d.objid = x.oid and d.refclassid = 'pg_class'::regclass
                  and d.refobjid = i.indrelid and c.attname = any ($2))
 order by x.relname, a.attnum`;

/** SQL: statistics objects with an expression in schema $1. */
const statisticsObjects = `
select s.stxname::text as name from pg_statistic_ext s join pg_namespace n on n.oid = s.stxnamespace
 where n.nspname = $1 and s.stxexprs is not null order by 1`;

interface IndexColumn {
  readonly index: string;
  readonly column: number;
  readonly quoted: string;
  readonly definition: string;
  readonly wanted: boolean;
  readonly kept: boolean;
}

/** Names of indexes and statistics objects through which EXPLAIN would reveal contents to limited roles. */
export async function contentStatistics(client: ClientBase, storage: string): Promise<readonly string[]> {
  const columns = await client.query<IndexColumn>(indexColumns, [storage, contents]);
  const objects = await client.query<{ name: string }>(statisticsObjects, [storage]);
  const indexes = columns.rows
    .filter(({ wanted: needsLimit, kept: hasStatistics }) => needsLimit || hasStatistics)
    .map(({ index }) => index);
  return [...new Set(indexes), ...objects.rows.map(({ name }) => name)];
}

/**
 * Stops Postgres from keeping such statistics. The schema must not have any of them yet. Runs in the caller's
 * transaction.
 */
export async function disableContentStatistics(client: ClientBase, storage: string): Promise<void> {
  const schema = escapeIdentifier(storage);
  const { rows } = await client.query<IndexColumn>(indexColumns, [storage, contents]);
  for (const { quoted: quotedName, column } of rows.filter(({ wanted: needsLimit }) => needsLimit)) {
    await client.query(`alter index ${schema}.${quotedName} alter column ${String(column)} set statistics 0`);
  }
  const objects = await client.query<{ name: string }>(statisticsObjects, [storage]);
  for (const { name } of objects.rows) await client.query(`drop statistics ${schema}.${escapeIdentifier(name)}`);
}

/**
 * Stops Postgres from keeping such statistics, and removes existing ones. Their indexes are rebuilt without blocking
 * writers. It must not run in a transaction.
 */
export async function dropContentStatistics(database: Database): Promise<void> {
  await shortChange(database, (client) => disableContentStatistics(client, database.schema));
  await database.withClient(async (client) => {
    const { rows } = await client.query<IndexColumn>(indexColumns, [database.schema, contents]);
    const keptColumns = new Map(rows.filter((column) => column.kept).map((column) => [column.index, column]));
    if (keptColumns.size === 0) return;
    await client.query('set statement_timeout = 0');
    for (const column of keptColumns.values()) await rebuildIndex(client, database.schema, column);
    await client.query('reset statement_timeout');
  });
}

/** Replaces an index with a new one, because a reindexed index keeps its statistics. */
async function rebuildIndex(
  client: ClientBase,
  storage: string,
  { quoted: quotedName, definition, index }: IndexColumn,
): Promise<void> {
  const schema = escapeIdentifier(storage);
  const next = escapeIdentifier(`${index.slice(0, 55)}_again`);
  const withBuildTimeout = (text: string): QueryConfig & { query_timeout: number } => ({
    text,
    query_timeout: buildLimitMs,
  });
  await client.query(withBuildTimeout(`drop index concurrently if exists ${schema}.${next}`));
  await client.query(
    withBuildTimeout(definition.replace(`INDEX ${quotedName} ON`, () => `INDEX CONCURRENTLY ${next} ON`)),
  );
  await disableContentStatistics(client, storage);
  await client.query(withBuildTimeout(`drop index concurrently ${schema}.${quotedName}`));
  await client.query(`alter index ${schema}.${next} rename to ${quotedName}`);
}

/** Calls {@link disableContentStatistics} if roles are limited to parties in schema `of`. */
export async function disableStatisticsIfLimited(
  client: ClientBase,
  streamSchema: string,
  storage: string,
): Promise<void> {
  if ((await limitedRoles(client, streamSchema)).length > 0) await disableContentStatistics(client, storage);
}
