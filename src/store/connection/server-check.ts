/**
 * Checks whether this server can store the data: version, encoding, and rights of the role. Runs once at start, so that
 * an unsuitable server is refused with a clear error instead of failing during the seed.
 */
import { escapeIdentifier } from 'pg';
import type { StoreErrorCode } from '../../errors/catalogue.ts';
import { IndexerError } from '../../errors/indexer-error.ts';
import type { Database } from './database.ts';

const minServerVersion = 140_000;

interface ServerFacts {
  readonly version_number: number;
  readonly version: string;
  readonly encoding: string;
  readonly role: string;
  readonly database: string;
  readonly may_create_schema: boolean;
  /** Whether the role may use the schema; null if the schema does not exist. */
  readonly may_use: boolean | null;
  readonly may_create_tables: boolean | null;
  readonly has_tables: boolean;
}

const serverFacts = `
select current_setting('server_version_num')::int as version_number,
       current_setting('server_version') as version,
       pg_encoding_to_char(d.encoding) as encoding,
       current_user::text as role,
       d.datname::text as database,
       has_database_privilege(d.oid, 'CREATE') as may_create_schema,
       has_schema_privilege(n.oid, 'USAGE') as may_use,
       has_schema_privilege(n.oid, 'CREATE') as may_create_tables,
       exists (select from pg_tables where schemaname = $1 and tablename = 'schema_migrations') as has_tables
  from pg_database d left join pg_namespace n on n.nspname = $1
 where d.datname = current_database()`;

/**
 * Resolves if the server is Postgres 14 or newer, stores UTF8, and the role may create everything that is missing.
 * @throws IndexerError `STORE_VERSION_UNSUPPORTED`, `STORE_ENCODING_UNSUPPORTED` or `STORE_NOT_PERMITTED`, all fatal
 */
export async function checkServer(database: Database): Promise<void> {
  const { rows } = await database.withClient((client) => client.query<ServerFacts>(serverFacts, [database.schema]));
  const facts = rows[0];
  if (facts === undefined) return;
  if (facts.version_number < minServerVersion) {
    throw storeError(
      'STORE_VERSION_UNSUPPORTED',
      `Postgres ${facts.version} is too old: 14 or newer is needed`,
      'upgrade the server',
    );
  }
  if (facts.encoding !== 'UTF8') {
    const remedy = `create a database with encoding 'UTF8' and point the URL at it`;
    throw storeError(
      'STORE_ENCODING_UNSUPPORTED',
      `database "${facts.database}" stores ${facts.encoding}, UTF8 is needed`,
      remedy,
    );
  }
  const missingRight = missingRightOf(facts, database.schema);
  if (missingRight === undefined) return;
  const grant = `grant ${missingRight} to "${facts.role}"`;
  throw new IndexerError(`role "${facts.role}" may not work in schema "${database.schema}": it lacks ${missingRight}`, {
    code: 'STORE_NOT_PERMITTED',
    retry: 'fatal',
    remedy: `let a database owner run \`${grant}\` or the output of \`ledger-indexer migrate --print\``,
  });
}

/** The missing right, in GRANT notation. */
function missingRightOf(facts: ServerFacts, schema: string): string | undefined {
  if (facts.may_use === null) return facts.may_create_schema ? undefined : `create on database "${facts.database}"`;
  if (!facts.may_use) return `usage on schema "${schema}"`;
  return facts.has_tables || facts.may_create_tables === true ? undefined : `create on schema "${schema}"`;
}

/** Advisory lock functions that the indexer calls: for the writer lock, migrations, typed views and pruning. */
const lockFunctions = [
  'pg_try_advisory_lock(integer, integer)',
  'pg_advisory_xact_lock(bigint)',
  'pg_advisory_xact_lock(integer, integer)',
];

interface SessionFacts {
  readonly role: string;
  readonly login: string;
  readonly database: string;
  readonly standby: boolean;
  readonly read_only: boolean;
  /** Source of the setting `default_transaction_read_only`, as named in pg_settings. */
  readonly source: string;
  /**
   * Whether the setting comes from the role, according to the row of pg_db_role_setting that applies to this session;
   * null if there is no such row. `of_database` is the same for the database.
   */
  readonly of_role: boolean | null;
  readonly of_database: boolean | null;
  readonly locks: readonly string[];
  /** Whether the role may write in the stream; true if there are no tables yet. */
  readonly is_writer: boolean;
}

const sessionFacts = `
select current_user::text as role, session_user::text as login, current_database()::text as database,
       pg_is_in_recovery() as standby, p.setting::boolean as read_only, p.source, s.of_role, s.of_database,
       array(select f from unnest($1::text[]) with ordinality u (f, nth)
              where not has_function_privilege('pg_catalog.' || f, 'execute') order by nth) as locks,
       coalesce((select has_any_column_privilege(c.oid, 'update') from pg_class c
                  where c.relname = 'stream' and c.relnamespace = to_regnamespace(quote_ident($2))), true) as is_writer
  from pg_settings p
  left join lateral (
    select d.setrole <> 0 as of_role, d.setdatabase <> 0 as of_database from pg_db_role_setting d
     where d.setrole in (0, (select oid from pg_roles where rolname = session_user))
       and d.setdatabase in (0, (select oid from pg_database where datname = current_database()))
       and exists (select from unnest(d.setconfig) c where c like 'default_transaction_read_only=%')
     order by 1 desc, 2 desc limit 1) s on true
 where p.name = 'default_transaction_read_only'`;

/**
 * Resolves if a session of this role may take the locks of a writer and its transactions may write. A standby passes
 * this check, because Postgres itself rejects writes on a standby.
 * @throws IndexerError `STORE_NOT_PERMITTED` (park) or `STORE_READ_ONLY` (retry), each with the statement that fixes it
 */
export async function assertWritable(database: Database): Promise<void> {
  await database.withClient(async (client) => {
    const { rows } = await client.query<SessionFacts>(sessionFacts, [lockFunctions, database.schema]);
    const [facts] = rows;
    if (facts === undefined) return;
    assertMayLock(facts);
    if (facts.read_only && !facts.standby) throw readOnlySessions(facts);
  });
}

function assertMayLock({ locks, role, database, is_writer: isWriter }: SessionFacts): void {
  if (locks.length === 0) return;
  // These functions must not be granted to a reader, so the error does not suggest a GRANT.
  if (!isWriter) throw notWriterError(role);
  const grant = `grant execute on function ${locks.map((name) => `pg_catalog.${name}`).join(', ')} to ${escapeIdentifier(role)}`;
  throw new IndexerError(
    `role "${role}" may not take advisory locks, which writing needs: it lacks execute on ${locks.join(', ')}`,
    {
      code: 'STORE_NOT_PERMITTED',
      remedy: `let a superuser run in database "${database}": \`${grant}\` (\`grant-roles\` leaves these functions to the roles of streams that are there)`,
    },
  );
}

function notWriterError(role: string): IndexerError {
  return new IndexerError(`role "${role}" may not write in this stream`, {
    code: 'STORE_NOT_PERMITTED',
    remedy:
      'connect as the writer of the stream, a role that `ledger-indexer grant-roles` makes; or grant the role of the writer to this one',
  });
}

function readOnlySessions({
  role,
  login,
  database,
  source,
  of_role: isRoleSetting,
  of_database: isDatabaseSetting,
}: SessionFacts) {
  const name = 'default_transaction_read_only';
  const [user, quotedDatabase] = [escapeIdentifier(login), escapeIdentifier(database)];
  let [settingSource, remedy] = [
    `the configuration of the server`,
    `let a superuser run \`alter role ${user} set ${name} = off\``,
  ];
  if (source === 'client') {
    [settingSource, remedy] = ['the options of the connection', `take ${name} out of DATABASE_URL or PGOPTIONS`];
  } else if (isRoleSetting === true) {
    const databaseClause = isDatabaseSetting === true ? ` in database ${quotedDatabase}` : '';
    settingSource = `role "${login}"${databaseClause}`;
    remedy = `let an administrator run \`alter role ${user}${databaseClause} reset ${name}\``;
  } else if (isRoleSetting === false) {
    const settingTarget = isDatabaseSetting === true ? `database ${quotedDatabase}` : 'role all';
    settingSource = isDatabaseSetting === true ? `database "${database}"` : 'all roles';
    // The role that runs the statement may also have read-only sessions, hence `read write`.
    remedy = `let its owner or a superuser run \`begin read write; alter ${settingTarget} reset ${name}; commit\``;
  }
  return new IndexerError(
    `this is the primary server, and sessions of role "${role}" are read-only: ${name} is on for ${settingSource}`,
    {
      code: 'STORE_READ_ONLY',
      remedy: `${remedy}; the indexer needs no restart`,
    },
  );
}

function storeError(code: StoreErrorCode, message: string, remedy: string): IndexerError {
  return new IndexerError(message, { code, remedy });
}
