/**
 * Limits reader logins in their use of server resources: connections, and disk space for temporary files. By default
 * Postgres limits neither. If the server has no free connection, the indexer stops at its next reconnect.
 */
import { escapeIdentifier, escapeLiteral, type ClientBase } from 'pg';
import { readersPath, readSchemas, type ReadSchemas } from '../connection/read-schemas.ts';
import { rightsBeyondReading } from './role-reach.ts';

/**
 * Connection limit of a role that `grant-reader` creates: a fifth of the connections of a server with default settings.
 */
export const defaultConnections = 20;

/**
 * Connection limit of a role for users of the participant: the query page runs up to twelve of their statements at a
 * time, and cancels each from another connection.
 */
export const sessionConnections = 30;

/**
 * Limit of temporary files of one process of a reader. It is sufficient to sort a million rows of 200 bytes. When nine
 * sessions removed files of 2 GB at once, commits waited for 6 s; with 512 MB for 1.2 s, with 256 MB for 0.3 s
 * (Postgres 15, ext4).
 */
export const temporaryFilesLimit = '256MB';

/**
 * Connections kept for one indexer. An indexer opens up to 12 connections, or up to 22 if all background jobs run. See
 * `indexer/connections.ts`.
 */
const indexerConnections = 25;

/**
 * The statements that set the defaults of a reader's sessions in one database. `pg_restore` restores these settings
 * only with `--create`, therefore `check` looks for them.
 */
export function sessionDefaults(role: string, database: string, schemas: ReadSchemas): readonly string[] {
  const set = `alter role ${escapeIdentifier(role)} in database ${escapeIdentifier(database)} set`;
  return [
    `${set} statement_timeout = '60s'`,
    `${set} default_transaction_read_only = on`,
    `${set} search_path = ${readersPath(schemas)}`,
  ];
}

/** Names of the settings of {@link sessionDefaults}. */
export const sessionDefaultNames = ['statement_timeout', 'default_transaction_read_only', 'search_path'] as const;

interface Server {
  readonly superuser: boolean;
  readonly version: number;
  /** Whether neither the server nor the role has a limit on temporary files. */
  readonly unlimited: boolean;
}

/**
 * The statement that limits the temporary files of a role. Empty if the role has a limit or a setting of its own, or if
 * this session may not set one. The limit applies in every database of the server. The role may not exist yet.
 */
export async function limitTemporaryFiles(client: ClientBase, role: string): Promise<readonly string[]> {
  const { rows } = await client.query<Server>(
    `select m.rolsuper as superuser, current_setting('server_version_num')::int as version,
            ${unlimitedSql} and not exists (
              select from pg_db_role_setting s join pg_roles r on r.oid = s.setrole
               where r.rolname = $1 and ${setsTemporaryFiles('s')}) as unlimited
       from pg_roles m where m.rolname = current_user`,
    [role],
  );
  const [server] = rows;
  if (server?.unlimited !== true || !(server.superuser || (await canSetFileLimit(client, server.version)))) return [];
  return [`alter role ${escapeIdentifier(role)} set temp_file_limit = ${escapeLiteral(temporaryFilesLimit)}`];
}

async function canSetFileLimit(client: ClientBase, version: number): Promise<boolean> {
  if (version < 150_000) return false;
  const { rows } = await client.query<{ may: boolean }>(
    `select has_parameter_privilege('temp_file_limit', 'set') as may`,
  );
  return rows[0]?.may === true;
}

/**
 * SQL: whether the server and this database have no limit. A setting of this session's own role is ignored, because it
 * does not apply to other roles.
 */
const unlimitedSql = `(select setting = '-1' or source in ('user', 'database user', 'client', 'session')
    from pg_settings where name = 'temp_file_limit')`;

function setsTemporaryFiles(alias: string): string {
  return `exists (select from unnest(${alias}.setconfig) c where c like 'temp_file_limit=%')`;
}

export interface ReaderUse {
  /** Names of logins that can only read and have no connection limit. */
  readonly anyConnections: readonly string[];
  /** Names of logins that can only read and have no limit of temporary files. */
  readonly anyTemporaryFiles: readonly string[];
  /** Sum of the connection limits of the other reader logins. */
  readonly connections: number;
  /** Connections that the server has for roles other than superusers, minus the connections of the indexer. */
  readonly available: number;
  /** Whether the server reserves connections for the roles that write. */
  readonly reserved: boolean;
}

/**
 * Reads the catalog. A reader is a login that may use schema `explore` and can only read. The search path must be the
 * storage schema.
 */
export async function readerUse(client: ClientBase, storage: string): Promise<ReaderUse> {
  const { rows } = await client.query<{ name: string; most: number; unlimited: boolean }>(
    `select l.rolname::text as name, l.rolconnlimit as most,
            coalesce((select substr(c, length('temp_file_limit=') + 1) = '-1'
                        from pg_db_role_setting s cross join unnest(s.setconfig) c
                       where s.setrole in (0, l.oid) and c like 'temp_file_limit=%'
                         and s.setdatabase in (0, (select oid from pg_database where datname = current_database()))
                       order by s.setrole = 0, s.setdatabase = 0 limit 1), ${unlimitedSql}) as unlimited
       from pg_roles l
      where l.rolcanlogin and has_schema_privilege(l.oid, to_regnamespace(quote_ident($1)), 'usage')
        and ${rightsBeyondReading('l.oid', storage)} is null
      order by 1`,
    [readSchemas(storage).explore],
  );
  const namesWhere = (predicate: (row: (typeof rows)[number]) => boolean) =>
    rows.filter(predicate).map(({ name }) => name);
  return {
    anyConnections: namesWhere(({ most: connectionLimit }) => connectionLimit < 0),
    anyTemporaryFiles: namesWhere(({ unlimited: isUnlimited }) => isUnlimited),
    connections: rows.reduce((sum, { most: connectionLimit }) => sum + Math.max(0, connectionLimit), 0),
    ...(await connectionsOf(client)),
  };
}

async function connectionsOf(client: ClientBase): Promise<Pick<ReaderUse, 'available' | 'reserved'>> {
  const { rows } = await client.query<{ most: number; superusers: number; kept: number; strangers: number }>(
    `select current_setting('max_connections')::int as most, current_setting('superuser_reserved_connections')::int as superusers,
            coalesce(current_setting('reserved_connections', true), '0')::int as kept,
            (select count(*)::int from pg_roles w
              where w.rolcanlogin and not w.rolsuper and has_table_privilege(w.oid, 'contracts', 'insert')
                and not pg_has_role(w.oid, coalesce(to_regrole('pg_use_reserved_connections')::oid, w.oid), 'usage')) as strangers`,
  );
  const {
    most: maxConnections = 0,
    superusers = 0,
    kept: reservedCount = 0,
    strangers: strangerCount = 0,
  } = rows[0] ?? {};
  const hasReserve = reservedCount >= indexerConnections && strangerCount === 0;
  return {
    available: maxConnections - superusers - reservedCount - (hasReserve ? 0 : indexerConnections),
    reserved: hasReserve,
  };
}
