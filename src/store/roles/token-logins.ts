/**
 * The logins of reader tokens, one for each token. Requests to the query page run as this login. A holder of the token
 * can also log in with it directly, so the login has to end with its token.
 */
import { DatabaseError, escapeIdentifier, escapeLiteral, type ClientBase } from 'pg';
import { IndexerError } from '../../errors/indexer-error.ts';
import type { Database } from '../connection/database.ts';
import { readSchemas } from '../connection/read-schemas.ts';
import { isCatalogConflict } from '../connection/store-error.ts';
import { grantToWriters } from './read-as.ts';
import { limitTemporaryFiles, sessionDefaults } from './reader-limits.ts';
import { scramVerifier } from './scram.ts';

/** Maximum sessions of one login: requests of the page, and their cancel requests. */
const maxSessions = 8;

export interface TokenLogin {
  readonly login: string;
  readonly role: string;
  readonly expiresAt: Date | null;
  readonly password: string;
}

/** Creates the login of a new token. Runs in the caller's transaction, with the storage as search path. */
export async function makeLogin(
  client: ClientBase,
  storage: string,
  { login, role, expiresAt, password }: TokenLogin,
): Promise<void> {
  const [name, group] = [escapeIdentifier(login), escapeIdentifier(role)];
  const { rows } = await client.query<{ database: string; version: number }>(
    `select current_database()::text as database, current_setting('server_version_num')::int as version`,
  );
  const { database, version } = rows[0] ?? { database: '', version: 0 };
  const validClause = expiresAt === null ? '' : ` valid until ${escapeLiteral(expiresAt.toISOString())}`;
  const secret = escapeLiteral(scramVerifier(password));
  await client.query(
    `create role ${name} login inherit connection limit ${String(maxSessions)} password ${secret}${validClause};
     grant ${group} to ${name}${version >= 160_000 ? ' with inherit true, set false' : ''};
     ${sessionDefaults(login, database, readSchemas(storage)).join(';\n     ')}`,
  );
  for (const statement of await limitTemporaryFiles(client, login)) await client.query(statement);
  await grantToWriters(client, login);
}

const dependentObjects = '2BP01';

const undefinedRoleState = '42704';
/**
 * If two sessions change the role at the same time, the session that fails sees the changed role immediately, so few
 * attempts are enough.
 */
const attempts = 5;

/**
 * Whether another session changed or dropped the role at the same time. This can happen because the indexer also ends
 * revoked logins.
 */
function isConcurrentChange(thrown: unknown): boolean {
  if (!(thrown instanceof DatabaseError)) return false;
  return thrown.code === undefinedRoleState || isCatalogConflict(thrown);
}

/**
 * Ends the sessions of a login and drops it with its objects in this database, if it exists.
 * @throws IndexerError READER_TOKEN_LOGIN_KEPT if it has objects in another database; the error of Postgres if it may
 * not be dropped
 */
export async function dropLogin(client: ClientBase, login: string): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await dropLoginIfPossible(client, login);
      return;
    } catch (thrown) {
      if (attempt === attempts || !isConcurrentChange(thrown)) throw thrown;
    }
  }
}

async function dropLoginIfPossible(client: ClientBase, login: string): Promise<void> {
  const { rows } = await client.query<{ superuser: boolean }>(
    `select (select rolsuper from pg_roles where rolname = current_user) as superuser from pg_roles where rolname = $1`,
    [login],
  );
  const [loginRow] = rows;
  if (loginRow === undefined) return;
  const name = escapeIdentifier(login);
  await client.query(`alter role ${name} nologin`);
  await client.query('select pg_terminate_backend(pid) from pg_stat_activity where usename = $1', [login]);
  // The objects of a role can be dropped only with the rights of that role. Only a superuser has the rights of all
  // roles.
  if (!loginRow.superuser) await client.query(`grant ${name} to current_user`);
  await client.query(`drop owned by ${name}`);
  await client.query(`drop role ${name}`).catch((thrown: unknown) => {
    if (!(thrown instanceof DatabaseError) || thrown.code !== dependentObjects) throw thrown;
    throw new IndexerError(`the token is refused, and its login "${login}" still owns objects`, {
      code: 'READER_TOKEN_LOGIN_KEPT',
      remedy: `as a superuser run \`drop owned by ${name}\` in the other databases, then \`drop role ${name}\``,
      facts: { login, found: thrown.detail ?? '' },
      cause: thrown,
    });
  });
}

interface EndableLogin {
  readonly login: string;
  /** Whether the current role may set the login to `nologin`. */
  readonly mayAlter: boolean;
  /** Whether the current role can switch to the login, so that it can end the sessions of the login. */
  readonly mayBecome: boolean;
  readonly open: boolean;
}

const endedLogins = `
select l.rolname::text as login,
       me.rolsuper or me.rolcreaterole and (v.version < 160000 or exists (
         select from pg_auth_members a where a.roleid = l.oid and a.member = me.oid and a.admin_option)) as "mayAlter",
       pg_has_role(l.oid, case when v.version >= 160000 then 'set' else 'member' end) as "mayBecome",
       exists (select from pg_stat_activity s where s.usesysid = l.oid) as open
  from reader_tokens t join pg_roles l on l.rolname = t.login_name
  join pg_roles me on me.rolname = current_user
 cross join (select current_setting('server_version_num')::int as version) v
 where (t.revoked_at is not null or t.expires_at <= now())
   and (l.rolcanlogin or exists (select from pg_stat_activity s where s.usesysid = l.oid))`;

/**
 * Ends the sessions of tokens that have expired or are revoked, and sets their logins to `nologin` if the current role
 * may. Postgres itself checks `valid until` only when a client logs in with a password.
 * @returns milliseconds until the next token expires; undefined if no token will expire
 */
export async function endExpiredLogins(database: Database): Promise<number | undefined> {
  return database.withClient(async (client) => {
    const { rows } = await client.query<EndableLogin>(endedLogins);
    for (const loginRow of rows) await endLogin(client, loginRow);
    const next = await client.query<{ ms: number | null }>(
      `select (extract(epoch from min(expires_at) - now()) * 1000)::float8 as ms from reader_tokens
        where expires_at > now() and revoked_at is null`,
    );
    return next.rows[0]?.ms ?? undefined;
  });
}

async function endLogin(
  client: ClientBase,
  { login, mayAlter: canAlter, mayBecome: canBecome, open: hasSessions }: EndableLogin,
): Promise<void> {
  const name = escapeIdentifier(login);
  // This comes first, so that no new session begins after the existing sessions are ended.
  if (canAlter) await client.query(`alter role ${name} nologin`);
  if (!hasSessions || !canBecome) return;
  // This runs as the login, which may end its own sessions. The writer does not inherit the rights of the login.
  await client.query(
    `begin;
     set local role ${name};
     select pg_terminate_backend(pid) from pg_stat_activity where usename = current_user;
     commit`,
  );
}
