/**
 * Creates the roles of a stream, so that the indexer connects with only the rights that it needs for writing. The
 * administrator of the server runs this, and runs it again after every upgrade, because new tables need new grants.
 */
import { type ClientBase, escapeIdentifier, escapeLiteral } from 'pg';
import { IndexerError } from '../../errors/indexer-error.ts';
import { pageUrl } from '../../page-url.ts';
import type { Database } from '../connection/database.ts';
import { shortChange } from '../connection/short-transaction.ts';
import { grantReader, readOnlyCondition } from './reader-role.ts';
import { revokePublicFunctions } from './public-functions.ts';
import { redactorGrants, withOwnersRights, writerGrants } from './role-rights.ts';
import { derivedSchema, readSchemas, type ReadSchemas } from '../connection/read-schemas.ts';
import { grantToWriters } from './read-as.ts';
import { limitedRoles, unusedRowSecurity } from './secure-views.ts';

/** Names of the roles that can log in. */
export type LoginRole = Exclude<keyof StreamRoles, 'owner'>;
export const loginRoles: readonly LoginRole[] = ['migrator', 'writer', 'redactor', 'reader'];

export interface RoleRequest {
  readonly prefix: string;
  /** Passwords as `create role` accepts them. A role without a password can only log in by other means. */
  readonly passwords: Readonly<Partial<Record<LoginRole, string>>>;
  /** Whether other programs use the database too. If so, the rights of `public` in it are kept. */
  readonly sharedDatabase: boolean;
  /** Connection limit of the reader; see {@link ReaderRole}. */
  readonly connections?: number | undefined;
}

/** Members of this role may use the connections that the server reserves with `reserved_connections`. */
const reservedConnections = 'pg_use_reserved_connections';

interface DatabaseFacts {
  readonly database: string;
  readonly me: string;
  readonly version: number;
  readonly superuser: boolean;
  readonly mayBypass: boolean;
  /** Whether the writer role exists and may bypass row security already. */
  readonly writerBypasses: boolean;
  /**
   * True if the current role may create and alter roles. The migrator role may not: it can only grant rights on objects
   * that it owns.
   */
  readonly administers: boolean;
  readonly existing: readonly string[];
  /** Existing roles with these names that have more rights than they should have. */
  readonly mighty: readonly string[];
  /** Functions in our schemas that run with the rights of their owner and are not part of this program. */
  readonly strange: readonly string[];
  readonly publicMayCreate: boolean;
  readonly shown: boolean;
}

export interface RolePlan {
  readonly roles: StreamRoles;
  readonly statements: readonly string[];
  /**
   * Whether the writer role may bypass row security, so that it can continue to write when some readers are limited to
   * parties.
   */
  readonly bypass: boolean;
  /** False if the roles do not change, and only their rights are granted again. */
  readonly administers: boolean;
}

/**
 * The statements of {@link grantRoles}, as one transaction. The reader is not included; `grant-reader` creates it.
 * @throws IndexerError GRANT_ROLES_REFUSED
 */
export async function planRoles(database: Database, request: RoleRequest): Promise<RolePlan> {
  const roles = streamRoles(request.prefix);
  return database.withClient(async (client) => {
    const facts = await readDatabaseFacts(client, database.schema, roles);
    assertCanGrant(facts, roles);
    const bypass = facts.mayBypass || facts.writerBypasses || !facts.administers;
    if (!bypass) await assertNoLimitedRoles(client, database.schema);
    const statements = [
      ...(bypass ? [] : await unusedRowSecurity(client, database.schema)),
      ...(facts.administers ? roleStatements(facts, roles, request) : []),
      ...(facts.administers ? databaseStatements(facts, roles, request.sharedDatabase) : []),
      ...(await ownershipStatements(client, readSchemas(database.schema), roles.owner)),
      // By default, Postgres lets every login call a new function. This statement changes the default, so that new
      // functions of the owner need a grant.
      `alter default privileges for role ${escapeIdentifier(roles.owner)} revoke execute on functions from public`,
      ...writerGrants(roles.writer, database.schema),
      ...redactorGrants(roles.redactor, database.schema),
      // These statements come last, because the roles that write are recognized by their rights on tables.
      ...(facts.superuser && !request.sharedDatabase ? revokePublicFunctions : []),
    ];
    return { roles, statements, bypass, administers: facts.administers };
  });
}

/**
 * Creates or repairs the roles in one transaction. The reader role is created afterwards, in separate transactions.
 * @throws IndexerError GRANT_ROLES_REFUSED, STORE_NOT_PERMITTED
 */
export async function grantRoles(database: Database, request: RoleRequest): Promise<RolePlan> {
  const plan = await planRoles(database, request);
  await shortChange(database, async (client) => {
    for (const statement of plan.statements) await client.query(statement);
  });
  // This also sets a default: the reader gets rights on new objects of the owner.
  if (plan.administers)
    await grantReader(database, {
      role: plan.roles.reader,
      parties: [],
      password: request.passwords.reader,
      sharedDatabase: request.sharedDatabase,
      connections: request.connections,
    });
  // The rows of projections of users are read as the reader.
  if (plan.administers) await shortChange(database, (client) => grantToWriters(client, plan.roles.reader));
  return plan;
}

async function readDatabaseFacts(client: ClientBase, storage: string, roles: StreamRoles): Promise<DatabaseFacts> {
  const { rows } = await client.query<DatabaseFacts>(
    `select current_database()::text as database, current_user::text as me,
            current_setting('server_version_num')::int as version, m.rolsuper as superuser,
            m.rolsuper or m.rolcreaterole as administers,
            -- Before Postgres 16, only a superuser may grant bypassrls.
            m.rolsuper or (m.rolbypassrls and m.rolcreaterole and current_setting('server_version_num')::int >= 160000)
              as "mayBypass",
            exists (select from pg_roles r where r.rolname = $9 and r.rolbypassrls) as "writerBypasses",
            array(select r.rolname::text from pg_roles r where r.rolname = any ($1)) as existing,
            array(select r.rolname::text from pg_roles r
                   where r.rolname = any ($1)
                     and (r.rolsuper or r.rolcreaterole or r.rolcreatedb or r.rolreplication
                          or exists (select from pg_auth_members a join pg_roles g on g.oid = a.roleid
                                      where a.member = r.oid and not (r.rolname = $2 and g.rolname = $3)
                                        and not (r.rolname = any ($6) and ${readOnlyCondition('g')})
                                        and not (r.rolname = any ($7) and g.rolname = $8 and not a.admin_option)))) as mighty,
            array(select p.oid::regprocedure::text from pg_proc p join pg_namespace n on n.oid = p.pronamespace
                   where n.nspname = any ($4) and p.prosecdef
                     and not exists (select from unnest($5::text[]) f where to_regprocedure(f) = p.oid)) as strange,
            has_schema_privilege('public', 'public', 'create') as "publicMayCreate",
            to_regclass('contracts') is not null as shown
       from pg_roles m where m.rolname = current_user`,
    [
      Object.values(roles),
      roles.migrator,
      roles.owner,
      Object.values(readSchemas(storage)),
      withOwnersRights(storage),
      [roles.owner, roles.writer],
      [roles.migrator, roles.writer],
      reservedConnections,
      roles.writer,
    ],
  );
  const [facts] = rows;
  if (facts === undefined) throw refusalError('the current role is unknown to the server', 'log in again');
  return facts;
}

function assertCanGrant(
  { mighty: powerfulRoles, strange: foreignRoles, shown, administers: isAdministrator, existing }: DatabaseFacts,
  roles: StreamRoles,
): void {
  if (!isAdministrator && existing.length < Object.keys(roles).length) {
    throw refusalError(
      'roles are missing, and this role may not create any',
      'run it as a superuser or a role with CREATEROLE',
    );
  }
  if (!shown)
    throw refusalError('the schema holds no stream yet', 'run `ledger-indexer migrate` first, as the same user');
  if (foreignRoles[0] !== undefined) {
    throw refusalError(
      `function ${foreignRoles[0]} runs with the rights of its owner and does not belong to this program`,
      'drop it, or move it to a schema of its own: here it would be given to the owner of the stream',
    );
  }
  const [first] = powerfulRoles;
  if (first === undefined) return;
  throw refusalError(
    `role "${first}" exists and is a superuser, may create roles or databases, replicates or is a member of another role`,
    'use another --prefix, or revoke those rights from the role',
  );
}

/** @throws IndexerError GRANT_ROLES_REFUSED if a role is limited to parties: the writer could not add rows then */
async function assertNoLimitedRoles(client: ClientBase, storage: string): Promise<void> {
  const [first] = await limitedRoles(client, storage);
  if (first === undefined) return;
  throw refusalError(
    `role "${first}" is limited to parties, and this role may not give the writer BYPASSRLS: Postgres would refuse its COPY`,
    `keep the indexer connected as the owner of the tables; or first remove the roles that are limited to parties: ${pageUrl('docs/how-to/secure/remove-reader-role.md')}`,
  );
}

function roleStatements(facts: DatabaseFacts, roles: StreamRoles, { passwords }: RoleRequest): string[] {
  const { owner, migrator, writer } = roles;
  const [ownRole, database] = [escapeIdentifier(facts.me), escapeIdentifier(facts.database)];
  const ensure = (role: string, options: string): string[] => {
    const exists = facts.existing.includes(role);
    return exists && options === '' ? [] : [`${exists ? 'alter' : 'create'} role ${escapeIdentifier(role)}${options}`];
  };
  const login = (role: LoginRole): string => {
    const password = passwords[role];
    return ` login${password === undefined ? '' : ` password ${escapeLiteral(password)}`}`;
  };
  return [
    ...ensure(owner, ' nologin'),
    ...ensure(migrator, login('migrator')),
    // Only roles with bypassrls may COPY into tables with row-level security. It gives no right to any table.
    ...ensure(writer, `${login('writer')}${facts.mayBypass ? ' bypassrls' : ''}`),
    ...ensure(roles.redactor, login('redactor')),
    `grant ${escapeIdentifier(owner)} to ${escapeIdentifier(migrator)}`,
    // Objects can be transferred to a new owner only by a member of that owner.
    ...(facts.superuser ? [] : [`grant ${escapeIdentifier(owner)} to ${ownRole}`]),
    ...(facts.superuser && facts.version >= 160_000
      ? [`grant ${reservedConnections} to ${escapeIdentifier(writer)}, ${escapeIdentifier(migrator)}`]
      : []),
    `alter role ${escapeIdentifier(migrator)} in database ${database} set role = ${escapeLiteral(owner)}`,
    ...[writer, roles.redactor].flatMap((role) => limitsOfTransactions(role, facts)),
  ];
}

/**
 * Statements that limit transactions of a role. Rows that an open transaction has changed block the writer until the
 * transaction ends. Our own sessions set the limits that they need. These defaults are for sessions of other programs
 * that leave transactions open. Before Postgres 17, no setting ends an active transaction.
 */
function limitsOfTransactions(role: string, { database, version }: DatabaseFacts): readonly string[] {
  const set = `alter role ${escapeIdentifier(role)} in database ${escapeIdentifier(database)} set`;
  return [
    `${set} idle_in_transaction_session_timeout = '30s'`,
    ...(version >= 170_000 ? [`${set} transaction_timeout = '10min'`] : []),
  ];
}

function databaseStatements(facts: DatabaseFacts, roles: StreamRoles, isShared: boolean): string[] {
  const database = escapeIdentifier(facts.database);
  const memberRoles = Object.entries(roles)
    .filter(([kind]) => kind !== 'owner' && kind !== 'reader')
    .map(([, role]) => escapeIdentifier(role));
  return [
    `grant connect on database ${database} to ${memberRoles.join(', ')}`,
    // `create schema if not exists` requires this right even if the schema exists.
    `grant create on database ${database} to ${escapeIdentifier(roles.owner)}`,
    ...(isShared ? [] : [`revoke temporary on database ${database} from public`]),
    ...(isShared || !facts.publicMayCreate ? [] : ['revoke create on schema public from public']),
  ];
}

function refusalError(message: string, remedy: string): IndexerError {
  return new IndexerError(message, { code: 'GRANT_ROLES_REFUSED', remedy });
}

// Transfers everything in the schemas of a stream to one owner: tables, views, functions, types, and statistics objects
// on tables.

/**
 * SQL: objects with another owner. Tables are listed before views, because the owner of a view must always have rights
 * on the tables that the view reads. The server returns quoted names.
 */
const otherOwnersQuery = `
with schemas as (select oid, nspname, nspowner from pg_namespace where nspname = any ($1)),
     target as (select coalesce((select oid from pg_roles where rolname = $2), 0::oid) as oid)
select 1 as step, format('schema %I', nspname) as object from schemas, target where nspowner <> target.oid
union all
select case when c.relkind = 'v' then 3 else 2 end,
       format('%s %I.%I', case c.relkind when 'v' then 'view' when 'm' then 'materialized view'
                          when 'S' then 'sequence' else 'table' end, s.nspname, c.relname)
  from pg_class c join schemas s on s.oid = c.relnamespace, target
 where c.relkind in ('r', 'p', 'v', 'm', 'S') and c.relowner <> target.oid
union all
select 4, format('%s %s', case p.prokind when 'p' then 'procedure' when 'a' then 'aggregate' else 'function' end,
                 p.oid::regprocedure)
  from pg_proc p join schemas s on s.oid = p.pronamespace, target where p.proowner <> target.oid
union all
select 5, format('statistics %I.%I', s.nspname, x.stxname)
  from pg_statistic_ext x join schemas s on s.oid = x.stxnamespace, target where x.stxowner <> target.oid
union all
select 6, format('type %I.%I', s.nspname, t.typname)
  from pg_type t join pg_class c on c.oid = t.typrelid join schemas s on s.oid = t.typnamespace, target
 where c.relkind = 'c' and t.typowner <> target.oid
order by 1, 2`;

/** The statements that transfer to `owner` all objects that it does not own yet. */
async function ownershipStatements(
  client: ClientBase,
  schemas: ReadSchemas,
  owner: string,
): Promise<readonly string[]> {
  // A schema of this name may belong to another program.
  const { rowCount: projections } = await client.query('select from user_projections limit 1');
  const derived = projections === 1 ? [derivedSchema(schemas.storage)] : [];
  const { rows } = await client.query<{ object: string }>(otherOwnersQuery, [
    [...Object.values(schemas), ...derived],
    owner,
  ]);
  return rows.map(({ object }) => `alter ${object} owner to ${escapeIdentifier(owner)}`);
}

/** Names of the roles of one stream. Roles belong to the entire server, so two streams need two prefixes. */
export interface StreamRoles {
  /** Owns all objects and cannot log in. */
  readonly owner: string;
  /** The migrator becomes the owner when it logs in. It is used for `migrate`, `views rebuild` and `index create`. */
  readonly migrator: string;
  /** Role of the indexer. */
  readonly writer: string;
  /** May remove contents and old history. */
  readonly redactor: string;
  /** Can only read. */
  readonly reader: string;
}

/** The names `<prefix>_owner`, `<prefix>_migrator` and so on. */
function streamRoles(prefix: string): StreamRoles {
  return {
    owner: `${prefix}_owner`,
    migrator: `${prefix}_migrator`,
    writer: `${prefix}_writer`,
    redactor: `${prefix}_redactor`,
    reader: `${prefix}_reader`,
  };
}
