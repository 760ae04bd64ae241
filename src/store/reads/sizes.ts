/**
 * Sizes of a schema and its parts. Sizes are file sizes. Row counts are estimates from the catalog (from the newest
 * vacuum or analyze, scaled to the current number of pages). No table is read, so this is fast even for a terabyte.
 */
import type { ClientBase } from 'pg';
import { IndexerError } from '../../errors/indexer-error.ts';
import type { Database } from '../connection/database.ts';
import { derivedSchema } from '../connection/read-schemas.ts';

/**
 * Sizes in bytes. `heap` includes the free space map and the visibility map; `toast` is data stored out of line, with
 * its index.
 */
export interface Bytes {
  readonly heap: number;
  readonly toast: number;
  readonly indexes: number;
  /** Sum of the three sizes, as pg_total_relation_size returns it. */
  readonly total: number;
}

export interface TableSize extends Bytes {
  readonly table: string;
  /** Estimated number of rows; null if Postgres has not counted yet. */
  readonly rows: number | null;
}

export interface IndexSize {
  readonly index: string;
  readonly table: string;
  readonly bytes: number;
  /**
   * False for an index that a failed `create index concurrently` left. No query uses such an index, but every write
   * updates it.
   */
  readonly valid: boolean;
}

export interface SizedServer {
  readonly version: string;
  /** Whether the server is in recovery because it follows a primary. */
  readonly standby: boolean;
  /** Whether the tables are distributed by Citus, so that their rows are on other nodes. */
  readonly distributed: boolean;
  /**
   * Bytes of this database; bytes of all databases that the role may connect to; number of databases that it may not
   * connect to.
   */
  readonly databaseBytes: number;
  readonly databasesBytes: number;
  readonly databasesUnseen: number;
  /** `max_wal_size`, bytes: how much write-ahead log a checkpoint cycle may leave. */
  readonly walBytes: number;
}

/** Number of events in full hours, by record time. */
export interface StoredGrowth {
  /** Start of the first hour and end of the last hour. */
  readonly from: Date;
  readonly to: Date;
  readonly events: number;
  /** Full days before `to`, newest first, at most seven. */
  readonly days: readonly { readonly from: Date; readonly to: Date; readonly events: number }[];
}

export interface StoredSizes {
  readonly server: SizedServer;
  readonly tables: readonly TableSize[];
  readonly indexes: readonly IndexSize[];
  /** Tables and indexes in schema `derived`, with the rows of projections that users added. */
  readonly derived: { readonly tables: readonly TableSize[]; readonly indexes: readonly IndexSize[] };
  /** Undefined if the role may not read it, or if there is no full hour yet. */
  readonly growth: StoredGrowth | undefined;
  /** History up to this offset was pruned; undefined if nothing was pruned, or if the role may not read it. */
  readonly prunedToOffset: number | undefined;
}

/**
 * Reads the catalog, and one row for each hour of a week from the tables.
 * @throws STORE_ errors, except for missing rights
 */
export async function readSizes(database: Database): Promise<StoredSizes> {
  const { schema } = database;
  const rowsOf = <T extends object>(sql: string, schemaName = schema): Promise<readonly T[]> =>
    database.withClient(async (client) => (await client.query<T>(sql, [schemaName])).rows);
  const [server] = await rowsOf<SizedServer>(serverQuery);
  if (server === undefined) throw new TypeError('the server does not list the database we are connected to');
  const tables = await rowsOf<TableSize>(tablesQuery);
  const indexes = await rowsOf<IndexSize>(indexesQuery);
  const derived = {
    tables: await rowsOf<TableSize>(tablesQuery, derivedSchema(schema)),
    indexes: await rowsOf<IndexSize>(indexesQuery, derivedSchema(schema)),
  };
  const streamSizes = await readIfAllowed(database, async (client) => {
    const { rows } = await client.query<StreamRow>(streamQuery);
    const [stream] = rows;
    if (stream === undefined) return undefined;
    const { from, to, prunedToOffset } = stream;
    const growth = to === null || from === null || to <= from ? undefined : await readStoredGrowth(client, from, to);
    return { growth, prunedToOffset: prunedToOffset ?? undefined };
  });
  const { growth, prunedToOffset } = streamSizes ?? { growth: undefined, prunedToOffset: undefined };
  return { server, tables, indexes, derived, growth, prunedToOffset };
}

const refusalCodes: ReadonlySet<string> = new Set(['STORE_NOT_PERMITTED', 'STORE_SCHEMA_MISMATCH']);

/** Undefined if the role lacks the right, or if the table is missing. */
async function readIfAllowed<T>(
  database: Database,
  readRows: (client: ClientBase) => Promise<T>,
): Promise<T | undefined> {
  try {
    return await database.withClient(readRows);
  } catch (thrown) {
    if (thrown instanceof IndexerError && refusalCodes.has(thrown.code)) return undefined;
    throw thrown;
  }
}

const serverQuery = `
  select current_setting('server_version') as version, pg_is_in_recovery() as standby,
         exists (select from pg_extension where extname = 'citus') as distributed,
         pg_database_size(current_database())::float8 as "databaseBytes",
         (select sum(case when has_database_privilege(oid, 'CONNECT') then pg_database_size(oid) end)
            from pg_database)::float8 as "databasesBytes",
         (select count(*) from pg_database where not has_database_privilege(oid, 'CONNECT'))::integer as "databasesUnseen",
         pg_size_bytes(current_setting('max_wal_size'))::float8 as "walBytes"
   where $1::text is not null`;

/**
 * SQL: rows and pages of the last count, scaled to the current pages, as the planner estimates. Before the first count,
 * the estimate uses the statistics of the server. A standby does not have these statistics.
 */
const tablesQuery = `
  with sized as (
    select c.relname, c.oid, c.reltuples, c.relpages, pg_relation_size(c.oid)::float8 as main,
           coalesce(pg_table_size(c.oid), 0)::float8 as with_toast, coalesce(pg_indexes_size(c.oid), 0)::float8 as indexes,
           coalesce(pg_total_relation_size(nullif(c.reltoastrelid, 0)), 0)::float8 as toast
      from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname = $1 and c.relkind in ('r', 'm')
  )
  select relname::text as table, with_toast - toast as heap, toast, indexes, with_toast + indexes as total,
         round(case when main = 0 then 0
                    when reltuples > 0 and relpages > 0
                      then reltuples::float8 / relpages * (main / current_setting('block_size')::integer)
                    else nullif(pg_stat_get_live_tuples(oid), 0) end) as rows
    from sized order by total desc, relname`;

const indexesQuery = `
  select i.relname::text as index, t.relname::text as table, x.indisvalid as valid,
         coalesce(pg_total_relation_size(i.oid), 0)::float8 as bytes
    from pg_index x join pg_class i on i.oid = x.indexrelid join pg_class t on t.oid = x.indrelid
    join pg_namespace n on n.oid = t.relnamespace
   where n.nspname = $1 and t.relkind in ('r', 'm')
   order by bytes desc, i.relname`;

interface StreamRow {
  readonly from: Date | null;
  readonly to: Date | null;
  readonly prunedToOffset: number | null;
}

/**
 * SQL: full hours, at most a week. The first hour is excluded because history may begin within it. The current hour is
 * excluded because it is not complete.
 */
const streamQuery = `
  select case when first.hour is not null then greatest(first.hour, s.hour - interval '7 days') end as from, s.hour as to, s.pruned_to_offset as "prunedToOffset"
    from (select date_trunc('hour', checkpoint_record_time, 'UTC') as hour, pruned_to_offset from stream) s,
         (select min(hour) + interval '1 hour' as hour from activity_hourly where template_pk = 0) first`;

/** SQL: number of created and exercised events; under ACS_DELTA, archived events instead of exercised ones. */
const growthQuery = `
  select floor(extract(epoch from $2::timestamptz - hour - interval '1 hour') / 86400)::integer as day,
         sum(total_creates + greatest(total_exercises, total_archives))::float8 as events
    from activity_hourly
   where template_pk = 0 and hour >= $1 and hour < $2 group by 1`;

const dayMs = 86_400_000;

async function readStoredGrowth(client: ClientBase, from: Date, to: Date): Promise<StoredGrowth> {
  const { rows } = await client.query<{ readonly day: number; readonly events: number }>(growthQuery, [from, to]);
  const eventsOf = new Map(rows.map(({ day, events }) => [day, events]));
  const completeDays = Math.floor((to.getTime() - from.getTime()) / dayMs);
  const days = Array.from({ length: completeDays }, (_, day) => ({
    from: new Date(to.getTime() - (day + 1) * dayMs),
    to: new Date(to.getTime() - day * dayMs),
    events: eventsOf.get(day) ?? 0,
  }));
  return { from, to, days, events: rows.reduce((sum, { events }) => sum + events, 0) };
}

export interface SchemaContents {
  /** Number of tables, views and sequences; indexes count as parts of their tables. */
  readonly relations: number;
  /** Estimated as in `readSizes`. */
  readonly rows: number;
  /** True if Postgres has not counted some of the tables yet: `rows` does not include their rows. */
  readonly isLowerBound: boolean;
  /** Including indexes and TOAST. */
  readonly bytes: number;
}

const relationsQuery = `
  select count(*)::integer as relations
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
   where n.nspname = $1 and c.relkind in ('r', 'p', 'm', 'v', 'f', 'S')`;

/** Describes the contents of a schema that is to be dropped. Reads only the catalog. */
export async function schemaContents(client: ClientBase, schema: string): Promise<SchemaContents> {
  const { rows: tables } = await client.query<TableSize>(tablesQuery, [schema]);
  const { rows: relationCounts } = await client.query<{ readonly relations: number }>(relationsQuery, [schema]);
  return {
    relations: relationCounts[0]?.relations ?? 0,
    rows: tables.reduce((sum, { rows }) => sum + (rows ?? 0), 0),
    isLowerBound: tables.some(({ rows }) => rows === null),
    bytes: tables.reduce((sum, { total }) => sum + total, 0),
  };
}
