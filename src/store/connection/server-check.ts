/**
 * Whether this server can hold the index at all: version, encoding, and the rights of the role. Asked once at start, so
 * that a wrong server is refused with a sentence instead of failing in the middle of the seed.
 */
import type { StoreErrorCode } from '../../errors/catalogue.ts';
import { IndexerError } from '../../errors/indexer-error.ts';
import type { Database } from './database.ts';

const oldestVersion = 140_000;

interface ServerFacts {
  readonly version_number: number;
  readonly version: string;
  readonly encoding: string;
  readonly role: string;
  readonly database: string;
  readonly may_create_schema: boolean;
  /** Null when the schema does not exist. */
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
 * Passes when the server is Postgres 14 or newer, stores UTF8, and the role may create whatever is still missing.
 * @throws IndexerError `STORE_TOO_OLD`, `STORE_ENCODING` or `STORE_NOT_PERMITTED`, all fatal
 */
export async function checkServer(database: Database): Promise<void> {
  const { rows } = await database.withClient((client) => client.query<ServerFacts>(serverFacts, [database.schema]));
  const facts = rows[0];
  if (facts === undefined) return;
  if (facts.version_number < oldestVersion) {
    throw refused('STORE_TOO_OLD', `Postgres ${facts.version} is too old: 14 or newer is needed`, 'upgrade the server');
  }
  if (facts.encoding !== 'UTF8') {
    const remedy = `create a database with encoding 'UTF8' and point the URL at it`;
    throw refused('STORE_ENCODING', `database "${facts.database}" stores ${facts.encoding}, UTF8 is needed`, remedy);
  }
  const lacking = lackingRight(facts, database.schema);
  if (lacking === undefined) return;
  const grant = `grant ${lacking} to "${facts.role}"`;
  throw new IndexerError(`role "${facts.role}" may not work in schema "${database.schema}": it lacks ${lacking}`, {
    code: 'STORE_NOT_PERMITTED',
    retry: 'fatal',
    remedy: `let a database owner run \`${grant}\` or the output of \`ledger-indexer migrate --print\``,
  });
}

/** The missing right, as it stands in a GRANT. */
function lackingRight(facts: ServerFacts, schema: string): string | undefined {
  if (facts.may_use === null) return facts.may_create_schema ? undefined : `create on database "${facts.database}"`;
  if (!facts.may_use) return `usage on schema "${schema}"`;
  return facts.has_tables || facts.may_create_tables === true ? undefined : `create on schema "${schema}"`;
}

function refused(code: StoreErrorCode, message: string, remedy: string): IndexerError {
  return new IndexerError(message, { code, remedy });
}
