/**
 * Creates reader roles, either for everything in the schemas of a stream, or only for rows that certain parties may
 * see. A limited role gets its grants last, after its policies exist and the views are ready.
 */
import { escapeIdentifier, escapeLiteral } from 'pg';
import type { ClientBase } from 'pg';
import { IndexerError } from '../../errors/indexer-error.ts';
import type { Database } from '../connection/database.ts';
import { hasCitus } from '../connection/session-settings.ts';
import { shortChange } from '../connection/short-transaction.ts';
import { dropContentStatistics } from './content-statistics.ts';
import { limitedGrants, policyStatements, type RoleParties } from './party-policies.ts';
import { hideStatements } from '../reads/node-sessions.ts';
import { grantToWriters } from './read-as.ts';
import { revokePublicFunctions } from './public-functions.ts';
import { defaultConnections, limitTemporaryFiles, sessionConnections, sessionDefaults } from './reader-limits.ts';
import { readSchemas, type ReadSchemas } from '../connection/read-schemas.ts';
import { limitedRoles, secureViewsFor } from './secure-views.ts';

export interface ReaderRole {
  readonly role: string;
  /**
   * Parties to which the role is limited; empty if the role reads everything. `session`: each transaction sees the
   * parties for which the indexer has opened it, and none without that.
   */
  readonly parties: RoleParties;
  /** Password as `create role` accepts it. If undefined, neither the password nor the right to log in changes. */
  readonly password: string | undefined;
  /**
   * Connection limit. If undefined, a new role gets {@link defaultConnections} or
   * {@link sessionConnections}, and the limit of an existing role is
   * not changed.
   */
  readonly connections?: number | undefined;
  /** Whether other programs use the database too. If so, the rights of `public` in it are kept. */
  readonly sharedDatabase?: boolean;
}

interface ReaderFacts {
  readonly database: string;
  readonly owner: string;
  readonly version: number;
  readonly exists: boolean;
  /** Whether the current role is a superuser. */
  readonly superuser: boolean;
  readonly citus: boolean;
  /** Statements that limit the temporary files of the role. */
  readonly temporaryFiles: readonly string[];
  /**
   * Whether row security policies do not apply to the role, because it is a superuser, has bypassrls, or is a member of
   * another role.
   */
  readonly unbound: boolean;
  readonly limited: boolean;
  /** Whether the role may write to the tables, as the indexer does. If it became a reader, it could no longer write. */
  readonly writes: boolean;
  /** Whether the role has tokens, whose logins are members of it. */
  readonly hasTokens: boolean;
  /** Whether a role other than the owner may write. Row-level security would refuse its COPY. */
  readonly foreignWriter: boolean;
}

/**
 * SQL: whether a role can read here and do nothing more. The writer is a member of such roles, to read as them for
 * clients.
 * @param alias alias of the role's row in pg_roles
 */
export function readOnlyCondition(alias: string): string {
  const rightCondition = (rightName: string): string =>
    `coalesce(has_table_privilege(${alias}.oid, to_regclass('updates'), '${rightName}'), false)`;
  return `(${rightCondition('select')} and not ${rightCondition('insert')} and ${alias}.rolname not like 'pg\\_%' and not ${alias}.rolsuper
    and not ${alias}.rolcreaterole and not ${alias}.rolcreatedb and not ${alias}.rolbypassrls and not ${alias}.rolreplication)`;
}

/**
 * The statements of {@link grantReader}, one list per transaction. Statements on views are not included, because
 * `grantReader` generates them when it runs.
 */
export async function planReader(database: Database, reader: ReaderRole): Promise<readonly (readonly string[])[]> {
  const facts = await database.withClient((client) => readReaderFacts(client, database.schema, reader.role));
  assertCanGrant(facts, reader);
  return plan(facts, reader, readSchemas(database.schema));
}

/**
 * Creates the role if it is missing, and grants its rights. Call it again to change parties or password.
 * @throws IndexerError GRANT_READER_REFUSED if the requested limits could not be enforced, STORE_NOT_PERMITTED
 */
export async function grantReader(database: Database, reader: ReaderRole): Promise<void> {
  const transactions = await planReader(database, reader);
  const isLimitedReader = reader.parties.length > 0;
  // Each transaction changes one table. A transaction that locks all tables at once would block the writer, or the
  // writer would block it.
  for (const statements of transactions) {
    await shortChange(database, async (client) => {
      for (const statement of statements) await client.query(statement);
    });
  }
  if (!isLimitedReader) return;
  // This runs before the role may read anything.
  await dropContentStatistics(database);
  await shortChange(database, async (client) => {
    await secureViewsFor(client, readSchemas(database.schema), [reader.role]);
    for (const statement of limitedGrants(reader.role, reader.parties)) await client.query(statement);
    if (reader.parties === 'session') await grantToWriters(client, reader.role);
  });
}

async function readReaderFacts(client: ClientBase, storage: string, role: string): Promise<ReaderFacts> {
  const { rows } = await client.query<Omit<ReaderFacts, 'limited' | 'temporaryFiles'>>(
    `select current_database()::text as database, pg_get_userbyid(c.relowner)::text as owner,
            current_setting('server_version_num')::int as version, r.oid is not null as exists,
            (select rolsuper from pg_roles where rolname = current_user) as superuser, ${hasCitus} as citus,
            coalesce(r.rolsuper or r.rolbypassrls or r.oid = c.relowner
                     or exists (select from pg_auth_members m where m.member = r.oid), false) as unbound,
            coalesce(has_table_privilege(r.oid, c.oid, 'insert'), false) as writes,
            exists (select from reader_tokens t join pg_roles l on l.rolname = t.login_name
                     where t.role_name = $2 and pg_has_role(l.oid, r.oid, 'member')) as "hasTokens",
            exists (select from aclexplode(c.relacl) a
                     where a.privilege_type = 'INSERT' and a.grantee <> c.relowner
                       and not exists (select from pg_roles w where w.oid = a.grantee and w.rolbypassrls)
                   ) as "foreignWriter"
       from pg_class c left join pg_roles r on r.rolname = $2
      where c.relname = 'contracts' and c.relnamespace = (select oid from pg_namespace where nspname = $1)`,
    [storage, role],
  );
  const [facts] = rows;
  if (facts === undefined)
    throw refusalError(`schema "${storage}" holds no stream`, 'run `ledger-indexer migrate` first');
  const isLimitedRole = (await limitedRoles(client, storage)).includes(role);
  return { ...facts, limited: isLimitedRole, temporaryFiles: await limitTemporaryFiles(client, role) };
}

function assertCanGrant(facts: ReaderFacts, { role, parties, password }: ReaderRole): void {
  if (facts.writes) {
    throw refusalError(
      `role "${role}" may write into the tables: as a reader it would become read-only, and the indexer with it`,
      'use a separate role for this reader',
    );
  }
  if (facts.hasTokens && password !== undefined) {
    throw refusalError(
      `role "${role}" has tokens, and their holders could read its statements and end its sessions if it logged in`,
      'use a separate role for logins, or revoke the tokens: ledger-indexer reader-token list',
    );
  }
  if (parties.length === 0) {
    if (!facts.limited) return;
    throw refusalError(
      `role "${role}" is limited to parties, and would read everything`,
      'name its parties with --party, or use another role',
    );
  }
  if (facts.version < 150_000) {
    throw refusalError(
      `${limitFlag(parties)} needs Postgres 15 or later: on ${Math.floor(facts.version / 10_000)} views return all rows to every role that may read them`,
      'upgrade the server, or index a separate schema for this reader with LEDGER_PARTIES',
    );
  }
  if (parties === 'session' && facts.citus) {
    throw refusalError(
      '--node-tokens is not possible with Citus: its workers do not know the transaction of the reader',
      'use a database without Citus, or grant-reader --party and reader tokens',
    );
  }
  if (facts.unbound) {
    throw refusalError(
      `role "${role}" is a superuser, bypasses policies, owns the tables or is a member of another role`,
      'use a separate role for this reader',
    );
  }
  if (facts.foreignWriter) {
    throw refusalError(
      'a role other than the owner may insert into the tables, and Postgres refuses its COPY under row-level security',
      'let the indexer connect as the owner of the tables and revoke insert from others, or give that role bypassrls',
    );
  }
}

function limitFlag(parties: RoleParties): string {
  return parties === 'session' ? '--node-tokens' : '--party';
}

function plan(facts: ReaderFacts, reader: ReaderRole, schemas: ReadSchemas): readonly (readonly string[])[] {
  const name = escapeIdentifier(reader.role);
  const names = Object.values(schemas).map((schema) => escapeIdentifier(schema));
  const usage = names.map((schema) => `grant usage on schema ${schema} to ${name}`);
  const defaultPrivileges = `alter default privileges for role ${escapeIdentifier(facts.owner)}`;
  // Revokes rights that were granted to the role before. Functions need no grant here, because the statements that
  // create them say which of them every login may call.
  const clean = names.flatMap((schema) => [
    `revoke all on all functions in schema ${schema} from ${name}`,
    `${defaultPrivileges} in schema ${schema} revoke execute on functions from ${name}`,
  ]);
  const role = [
    // These statements run before a login exists that could call the functions.
    ...(facts.superuser && reader.sharedDatabase !== true ? revokePublicFunctions : []),
    ...roleStatements(facts, reader),
    ...facts.temporaryFiles,
    ...(facts.superuser && reader.parties === 'session' ? hideStatements(reader.role) : []),
    ...sessionDefaults(reader.role, facts.database, schemas),
  ];
  if (reader.parties.length === 0) {
    const reads = names.map((schema) => `grant select on all tables in schema ${schema} to ${name}`);
    const futureGrants = names.map(
      (schema) => `${defaultPrivileges} in schema ${schema} grant select on tables to ${name}`,
    );
    return [[...role, ...clean, ...usage, ...reads, ...futureGrants]];
  }
  const revoked = names.flatMap((schema) => [
    `revoke all on all tables in schema ${schema} from ${name}`,
    `${defaultPrivileges} in schema ${schema} revoke select on tables from ${name}`,
  ]);
  return [[...role, ...clean, ...revoked], ...policyStatements(reader.role, reader.parties), usage];
}

function roleStatements({ exists }: ReaderFacts, { role, parties, password, connections }: ReaderRole): string[] {
  const login = password === undefined ? '' : ` login password ${escapeLiteral(password)}`;
  const usualLimit = parties === 'session' ? sessionConnections : defaultConnections;
  const connectionLimit = connections ?? (exists ? undefined : usualLimit);
  const options = `${login}${connectionLimit === undefined ? '' : ` connection limit ${String(connectionLimit)}`}`;
  const name = escapeIdentifier(role);
  if (!exists) return [`create role ${name}${options}`];
  return options === '' ? [] : [`alter role ${name}${options}`];
}

function refusalError(message: string, remedy: string): IndexerError {
  return new IndexerError(message, { code: 'GRANT_READER_REFUSED', remedy });
}
