/**
 * Size of a schema and of its parts. Sizes are those of the files; rows are estimates of the catalog (the newest vacuum
 * or analyze, scaled to the current pages): no table is read, so it is fast for a terabyte as well.
 */
import type { ClientBase } from 'pg';
import { IndexerError } from '../../errors/indexer-error.ts';
import type { Database } from '../connection/database.ts';

/** Bytes. `heap` includes the maps of free space and visibility, `toast` is data stored out of line, with its index. */
export interface Bytes {
  readonly heap: number;
  readonly toast: number;
  readonly indexes: number;
  /** The sum of the three, as pg_total_relation_size returns it. */
  readonly total: number;
}

export interface TableSize extends Bytes {
  readonly table: string;
  /** Estimated; null if Postgres has not counted yet. */
  readonly rows: number | null;
}

export interface IndexSize {
  readonly index: string;
  readonly table: string;
  readonly bytes: number;
  /** False for the remains of a failed `create index concurrently`: it serves no query but is updated all the same. */
  readonly valid: boolean;
}

export interface SizedServer {
  readonly version: string;
  /** In recovery: it follows a primary. */
  readonly standby: boolean;
  /** Citus tables have their rows on other nodes. */
  readonly distributed: boolean;
  /** Bytes of this database, of all databases that the role may connect to, and the number of other databases. */
  readonly databaseBytes: number;
  readonly databasesBytes: number;
  readonly databasesUnseen: number;
  /** `max_wal_size`, bytes: the write-ahead log that a checkpoint cycle may leave. */
  readonly walBytes: number;
}

/** Events of full hours by record time. */
export interface StoredGrowth {
  /** Start of the first hour and end of the last. */
  readonly from: Date;
  readonly to: Date;
  readonly events: number;
  /** Full days back from `to`, newest first, at most seven. */
  readonly days: readonly { readonly from: Date; readonly to: Date; readonly events: number }[];
}

export interface StoredSizes {
  readonly server: SizedServer;
  readonly tables: readonly TableSize[];
  readonly indexes: readonly IndexSize[];
  /** Undefined if the role may not read it, or there is no full hour yet. */
  readonly growth: StoredGrowth | undefined;
  /** History up to this offset was pruned; undefined if none was, or the role may not read it. */
  readonly prunedToOffset: number | undefined;
}

/**
 * Reads the catalog, and from the tables a row for each hour of a week. @throws STORE_ errors, except for missing
 * rights
 */
export async function readSizes(database: Database): Promise<StoredSizes> {
  const { schema } = database;
  const rowsOf = <T extends object>(sql: string): Promise<readonly T[]> =>
    database.withClient(async (client) => (await client.query<T>(sql, [schema])).rows);
  const [server] = await rowsOf<SizedServer>(serverQuery);
  if (server === undefined) throw new TypeError('the server does not list the database we are connected to');
  const tables = await rowsOf<TableSize>(tablesQuery);
  const indexes = await rowsOf<IndexSize>(indexesQuery);
  const known = await asFarAsAllowed(database, async (client) => {
    const { rows } = await client.query<StreamRow>(streamQuery);
    const [stream] = rows;
    if (stream === undefined) return undefined;
    const { from, to, prunedToOffset } = stream;
    const growth = to === null || from === null || to <= from ? undefined : await readGrowth(client, from, to);
    return { growth, prunedToOffset: prunedToOffset ?? undefined };
  });
  return { server, tables, indexes, growth: known?.growth, prunedToOffset: known?.prunedToOffset };
}

const refusals: ReadonlySet<string> = new Set(['STORE_NOT_PERMITTED', 'STORE_SCHEMA_MISMATCH']);

/** Undefined if the role lacks the right, or there is no such table. */
async function asFarAsAllowed<T>(database: Database, read: (client: ClientBase) => Promise<T>): Promise<T | undefined> {
  try {
    return await database.withClient(read);
  } catch (thrown) {
    if (thrown instanceof IndexerError && refusals.has(thrown.code)) return undefined;
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
 * Counted rows by counted pages, times the current pages, as the planner estimates; before the first count, the
 * statistics of the server, which a standby does not have.
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

/** Full hours: neither the first, which history may begin in the middle of, nor the current one. At most a week. */
const streamQuery = `
  select case when first.hour is not null then greatest(first.hour, s.hour - interval '7 days') end as from, s.hour as to, s.pruned_to_offset as "prunedToOffset"
    from (select date_trunc('hour', checkpoint_record_time, 'UTC') as hour, pruned_to_offset from stream) s,
         (select min(hour) + interval '1 hour' as hour from activity_hourly where template_pk = 0) first`;

/** Created and exercised events; under ACS_DELTA archived instead of exercised. */
const growthQuery = `
  select floor(extract(epoch from $2::timestamptz - hour - interval '1 hour') / 86400)::integer as day,
         sum(total_creates + greatest(total_exercises, total_archives))::float8 as events
    from activity_hourly
   where template_pk = 0 and hour >= $1 and hour < $2 group by 1`;

const dayMs = 86_400_000;

async function readGrowth(client: ClientBase, from: Date, to: Date): Promise<StoredGrowth> {
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
  /** Tables, views and sequences; indexes are parts of their tables. */
  readonly relations: number;
  /** Estimated as for `readSizes`. */
  readonly rows: number;
  /** Postgres has not counted some of the tables yet: `rows` does not include these. */
  readonly isLowerBound: boolean;
  /** With indexes and TOAST. */
  readonly bytes: number;
}

const relationsQuery = `
  select count(*)::integer as relations
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
   where n.nspname = $1 and c.relkind in ('r', 'p', 'm', 'v', 'f', 'S')`;

/** Contents of a schema that is to be dropped. Reads the catalog only. */
export async function schemaContents(client: ClientBase, schema: string): Promise<SchemaContents> {
  const { rows: tables } = await client.query<TableSize>(tablesQuery, [schema]);
  const { rows: counted } = await client.query<{ readonly relations: number }>(relationsQuery, [schema]);
  return {
    relations: counted[0]?.relations ?? 0,
    rows: tables.reduce((sum, { rows }) => sum + (rows ?? 0), 0),
    isLowerBound: tables.some(({ rows }) => rows === null),
    bytes: tables.reduce((sum, { total }) => sum + total, 0),
  };
}
