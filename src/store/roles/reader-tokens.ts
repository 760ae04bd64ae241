/**
 * Creates, lists, revokes and looks up reader tokens: table `reader_tokens`, and for each token a login that is a
 * member of its role. Statements of users run as that login. If the role were only set in the session, a statement
 * could reset it.
 */
import { randomBytes } from 'node:crypto';
import type { ClientBase } from 'pg';
import { IndexerError } from '../../errors/indexer-error.ts';
import { hashOf, loginPasswordOf, newToken, type ReaderToken, type TokenEnd } from '../../reader-token.ts';
import type { Database } from '../connection/database.ts';
import { revokePublicIfSuperuser } from './public-functions.ts';
import { allowReadAs } from './read-as.ts';
import { rightsBeyondReading } from './role-reach.ts';
import { dropLogin, makeLogin } from './token-logins.ts';

export interface TokenRequest {
  readonly role: string;
  readonly name: string | null;
  readonly expiresAt: Date | null;
  /** Whether other programs use the database too. If so, the rights of `public` in it are kept. */
  readonly sharedDatabase?: boolean;
}

export interface CreatedToken {
  readonly id: string;
  /** The token itself. It is not stored, so this is the only time it is returned. */
  readonly token: string;
}

export interface ListedToken {
  readonly id: string;
  readonly role: string;
  readonly name: string | null;
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
  readonly state: 'good' | TokenEnd | 'role gone';
}

/**
 * Creates a token.
 * @throws IndexerError READER_TOKEN_REFUSED if the role is not a reader role, STORE_NOT_PERMITTED if logins may not be
 * created
 */
export function createToken(database: Database, request: TokenRequest): Promise<CreatedToken> {
  const { role, name, expiresAt, sharedDatabase = false } = request;
  const [id, token] = [randomBytes(4).toString('hex'), newToken()];
  const login = `${database.schema}_token_${id}`;
  return database.transaction(async (client) => {
    const { problem } = await allowReadAs(client, database.schema, role);
    if (problem !== null)
      throw new IndexerError(problem.found, { code: 'READER_TOKEN_REFUSED', remedy: problem.remedy });
    await refuseLogin(client, role);
    if (!sharedDatabase) await revokePublicIfSuperuser(client);
    await makeLogin(client, database.schema, { login, role, expiresAt, password: loginPasswordOf(token) });
    await client.query(
      `insert into reader_tokens (id, hash, role_name, login_name, name, expires_at) values ($1, $2, $3, $4, $5, $6)`,
      [id, hashOf(token), role, login, name, expiresAt],
    );
    return { id, token };
  });
}

/**
 * Refuses a role that can log in. The login of a token is a member of the role, and Postgres lets members of a role see
 * its statements and end its sessions.
 */
async function refuseLogin(client: ClientBase, role: string): Promise<void> {
  const { rowCount } = await client.query('select from pg_roles where rolname = $1 and rolcanlogin', [role]);
  if (rowCount === 0) return;
  throw new IndexerError(
    `role "${role}" logs in, and holders of its tokens could read its statements and end its sessions`,
    {
      code: 'READER_TOKEN_REFUSED',
      remedy: 'make a role for tokens by grant-reader without --password-file, with the same --party',
    },
  );
}

/** All tokens, newest last. */
export async function listTokens(database: Database): Promise<readonly ListedToken[]> {
  const { rows } = await database.withClient((client) =>
    client.query<Omit<ListedToken, 'state'> & { ended: TokenEnd | null; member: boolean }>(
      `select t.id, t.role_name as role, t.name, t.created_at as "createdAt", t.expires_at as "expiresAt",
              ${endExpression} as ended, ${isMember(database.schema)} as member
         from reader_tokens t order by t.created_at, t.id`,
    ),
  );
  return rows.map(({ ended: endReason, member, ...token }) => ({
    ...token,
    state: endReason ?? (member ? 'good' : 'role gone'),
  }));
}

/**
 * Revokes a token and drops its login. Open streams that use the token end without further action.
 * @throws IndexerError READER_TOKEN_NOT_FOUND; STORE_NOT_PERMITTED or READER_TOKEN_LOGIN_KEPT if its login stays,
 * although the token is revoked
 */
export async function revokeToken(database: Database, id: string): Promise<void> {
  const { rows } = await database.withClient((client) =>
    client.query<{ login: string }>(
      `update reader_tokens set revoked_at = coalesce(revoked_at, now()) where id = $1 returning login_name as login`,
      [id],
    ),
  );
  const [tokenRow] = rows;
  if (tokenRow === undefined) throw new IndexerError(`there is no token ${id}`, { code: 'READER_TOKEN_NOT_FOUND' });
  await database.withClient((client) => dropLogin(client, tokenRow.login));
}

/** SQL over a row `t`: why the token is no longer accepted, as {@link TokenEnd}. */
const endExpression = `case when t.revoked_at is not null then 'revoked' when t.expires_at <= now() then 'expired' end`;
/**
 * SQL over a row `t`: whether the login of the token is unchanged and can only read. If the role was dropped and
 * created again, it is a different role.
 */
const isMember = (storage: string): string =>
  `exists (select from pg_auth_members m join pg_roles g on g.oid = m.roleid join pg_roles l on l.oid = m.member
                 where g.rolname = t.role_name and l.rolname = t.login_name
                   and ${rightsBeyondReading('l.oid', storage)} is null)`;

/** Returns those tokens that exist, by their hash in hex. @throws IndexerError STORE_ errors */
export async function readTokens(
  database: Database,
  hashes: readonly Buffer[],
): Promise<ReadonlyMap<string, ReaderToken>> {
  const { rows } = await database.withClient((client) =>
    client.query<Omit<ReaderToken, 'ended'> & { readonly hash: string; readonly ended: TokenEnd | null }>(
      `select encode(t.hash, 'hex') as hash, t.id, t.role_name as role, t.login_name as login,
              coalesce(${endExpression}, case when not ${isMember(database.schema)} then 'revoked' end) as ended
         from reader_tokens t where t.hash = any ($1::bytea[])`,
      [hashes],
    ),
  );
  return new Map(rows.map(({ hash, ended: end, ...token }) => [hash, { ...token, ended: end ?? undefined }]));
}
