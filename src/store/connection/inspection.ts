/** Reads facts about server and schema for `check`. Each statement is independent; nothing is written. */
import type { LockHolder } from '../../model/stream.ts';
import type { Database } from './database.ts';
import { tablesOf } from './query-builder.ts';

export interface ServerInspection {
  readonly version: string;
  readonly encoding: string;
  readonly database: string;
  readonly role: string;
  /** Size of the entire database, bytes. */
  readonly databaseBytes: number;
  /** Size of the schema's tables and indexes, bytes; 0 if there is no schema. */
  readonly schemaBytes: number;
  /** Time of the server's clock, milliseconds since 1970. */
  readonly clockMs: number;
}

/** Takes milliseconds to seconds, because the server determines the size of each file separately. */
export async function inspectServer(database: Database): Promise<ServerInspection> {
  const { rows } = await database.withClient((client) =>
    client.query<ServerInspection>(
      `select current_setting('server_version') as version, pg_encoding_to_char(d.encoding) as encoding,
              d.datname::text as database, current_user::text as role,
              pg_database_size(d.oid)::float8 as "databaseBytes",
              coalesce((select sum(pg_total_relation_size(c.oid)) from pg_class c
                         where c.relnamespace = (select oid from pg_namespace where nspname = $1)
                           and c.relkind in ('r', 'm')), 0)::float8 as "schemaBytes",
              (extract(epoch from clock_timestamp()) * 1000)::float8 as "clockMs"
         from pg_database d where d.datname = current_database()`,
      [database.schema],
    ),
  );
  const [row] = rows;
  if (row === undefined) throw new TypeError('the server does not list the database we are connected to');
  return row;
}

/** The session that holds the writer lock of the schema; undefined if no session holds it. */
export async function writerLockHolder(database: Database): Promise<LockHolder | undefined> {
  const { rows } = await database.withClient((client) =>
    client.query<LockHolder>(
      `select l.pid, a.usename::text as role, a.application_name as application, host(a.client_addr) as address,
              to_char(a.backend_start at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as since
         from pg_locks l left join pg_stat_activity a on a.pid = l.pid
        where l.locktype = 'advisory' and l.granted and l.objsubid = 2
          and l.database = (select oid from pg_database where datname = current_database())
          and l.classid = hashtext('ledger-indexer writer')::oid and l.objid = hashtext($1)::oid`,
      [database.schema],
    ),
  );
  return rows[0];
}

/** Host and process of the last writer, as stored by the writer; undefined if nothing was written. */
export async function lastWriter(database: Database): Promise<string | undefined> {
  const stream = await database.withClient((client) =>
    tablesOf(client).selectFrom('stream').select('writer').executeTakeFirst(),
  );
  return stream?.writer ?? undefined;
}

/** Whether the schema has tables of this program. */
export async function hasTables(database: Database): Promise<boolean> {
  const { rowCount } = await database.withClient((client) =>
    client.query(`select from pg_tables where schemaname = $1 and tablename = 'schema_migrations'`, [database.schema]),
  );
  return rowCount === 1;
}

/** Used part of the notification queue, 0 to 1. The entire server has one queue. */
export async function noticeQueueUsage(database: Database): Promise<number> {
  const { rows } = await database.withClient((client) =>
    client.query<{ usage: number }>('select pg_notification_queue_usage() as usage'),
  );
  return rows[0]?.usage ?? 0;
}

/** Connection limits of this login. */
export interface ConnectionLimits {
  /**
   * Maximum connections of the role, of the database, and of the server without its reserved connections; null: no
   * limit.
   */
  readonly role: number | null;
  readonly database: number | null;
  readonly server: number;
  /** Number of connections that other programs have open now, with any role. */
  readonly others: number;
}

/**
 * Limits of the session's login role. Only the limit of the server applies to a superuser. For sessions of other roles,
 * Postgres reveals little except that they exist.
 */
export async function connectionLimits(database: Database): Promise<ConnectionLimits> {
  const { rows } = await database.withClient((client) =>
    client.query<ConnectionLimits>(
      `select case when r.rolconnlimit >= 0 and not r.rolsuper then r.rolconnlimit end as role,
              case when d.datconnlimit >= 0 and not r.rolsuper then d.datconnlimit end as database,
              current_setting('max_connections')::int
                - case when r.rolsuper then 0
                       else current_setting('superuser_reserved_connections')::int
                          + case when pg_has_role(r.oid, coalesce(to_regrole('pg_use_reserved_connections')::oid, r.oid), 'usage') then 0
                                 else coalesce(current_setting('reserved_connections', true), '0')::int end end as server,
              (select count(*)::int from pg_stat_activity a
                where a.usesysid is not null and coalesce(a.backend_type, 'client backend') = 'client backend'
                  and coalesce(a.application_name, '') not like 'ledger-indexer%') as others
         from pg_roles r, pg_database d
        where r.rolname = session_user and d.datname = current_database()`,
    ),
  );
  const [row] = rows;
  if (row === undefined) throw new TypeError('the server does not list the role and the database of this session');
  return row;
}
