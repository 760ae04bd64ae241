/** Attacks with reader tokens that are guessed, stolen, revoked or expired, and with the Postgres logins of tokens. */
import type { Client } from 'pg';
import { loginPasswordOf } from '../../../src/reader-token.ts';
import { attempt as tryStatement } from '../../security/attempts.ts';
import { waitFor } from '../../support/wait-for.ts';
import { heldVerdict, verdict, type Attempt, type Group } from '../attempt.ts';
import { requestQueryPage, queryWithToken, bearer, forwardedHeaders } from '../wire/ask.ts';
import { requestRow } from '../wire/rows.ts';
import { connected } from '../world/server.ts';
import type { UserToken, World } from '../world/world.ts';

const unknownToken = `lir_${'A'.repeat(43)}`;

/** An invalid token, or a token sent in an unsupported way. */
const invalidTokenRow = (
  id: string,
  description: string,
  change: (token: string) => { query?: string; headers?: Readonly<Record<string, string>> },
) =>
  requestRow({
    id: `token-${id}`,
    what: description,
    path: ({ tokens }) => `/changes?after=0${change(tokens.all.token).query ?? ''}`,
    options: ({ tokens }) => ({ headers: { ...forwardedHeaders, ...change(tokens.all.token).headers }, most: 1 }),
    statuses: [400, 401, 403],
  });

const tokenUrlAttempts = [
  invalidTokenRow('in-the-address', 'a token in the address', (token) => ({ query: `&token=${token}` })),
  invalidTokenRow('as-access-token', 'a token as access_token', (token) => ({ query: `&access_token=${token}` })),
  invalidTokenRow('in-a-cookie', 'a token in a cookie', (token) => ({ headers: { cookie: `token=${token}` } })),
  invalidTokenRow('as-basic', 'a token as the password of Basic', (token) => ({
    headers: { authorization: `Basic ${Buffer.from(`x:${token}`).toString('base64')}` },
  })),
  invalidTokenRow('in-x-header', 'a token in another header', (token) => ({
    headers: { 'x-authorization': `Bearer ${token}` },
  })),
  invalidTokenRow('cut', 'a token without its last character', (token) => ({
    headers: { authorization: `Bearer ${token.slice(0, -1)}` },
  })),
  invalidTokenRow('longer', 'a token and one character more', (token) => ({
    headers: { authorization: `Bearer ${token}A` },
  })),
  invalidTokenRow('other-case', 'a token in upper case', (token) => ({
    headers: { authorization: `Bearer ${token.toUpperCase()}` },
  })),
  invalidTokenRow('wrong', 'a token that was invented', () => ({
    headers: { authorization: `Bearer ${unknownToken}` },
  })),
  invalidTokenRow('empty', 'no token after Bearer', () => ({ headers: { authorization: 'Bearer ' } })),
  invalidTokenRow('injected', 'SQL as a token', () => ({ headers: { authorization: `Bearer ' or '1'='1` } })),
  invalidTokenRow('two-of-them', 'two tokens in one header', (token) => ({
    headers: { authorization: `Bearer ${unknownToken}, Bearer ${token}` },
  })),
];

const overviews = ['/status', '/events', '/update?offset='].map((path) =>
  requestRow({
    id: `token-limited-overview${path.replaceAll(/\W+/g, '-').replace(/-$/, '')}`,
    what: `${path} from another machine with the token of a limited role`,
    path: ({ hidden: hiddenUpdate }) => (path.endsWith('=') ? `${path}${String(hiddenUpdate.offset)}` : path),
    options: ({ tokens }) => ({ headers: bearer(tokens.limited.token), most: 1 }),
    statuses: [403],
    without: ({ hidden: hiddenUpdate }) => [hiddenUpdate.updateId, hiddenUpdate.contractId],
  }),
);

async function asToken<T>(world: World, { login, token }: UserToken, work: (client: Client) => Promise<T>): Promise<T> {
  const client = await connected(world.urlAs(login, loginPasswordOf(token)), 'attacker token');
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

const loginAttempt = (id: string, description: string, sql: (world: World) => string): Attempt => ({
  id: `token-login-${id}`,
  what: `logs in to Postgres as the login of a token, and ${description}`,
  expected: 'SQLSTATE 42501',
  run: (world) =>
    asToken(world, world.tokens.limited, async (client) => {
      const outcome = await tryStatement(client, sql(world));
      return verdict(outcome === '42501', `SQLSTATE ${outcome ?? 'none: the statement was carried out'}`);
    }),
});

const logins: readonly Attempt[] = [
  loginAttempt('other-role', 'becomes the role of another token', ({ tokens }) => `set role ${tokens.all.role}`),
  loginAttempt('reader', 'becomes the full reader', (world) => `set role ${world.role('reader')}`),
  loginAttempt('writer', 'becomes the writer', (world) => `set role ${world.role('writer')}`),
  loginAttempt(
    'grants',
    'grants its role to another',
    (world) => `grant ${world.tokens.limited.role} to ${world.role('reader')}`,
  ),
  loginAttempt(
    'ends-another',
    'ends sessions of others',
    () =>
      'select pg_terminate_backend(pid) from pg_stat_activity where usename <> current_user and usename is not null',
  ),
  loginAttempt('advisory-lock', 'takes an advisory lock', () => 'select pg_advisory_lock(1)'),
  loginAttempt('large-object', 'makes a large object', () => `select lo_from_bytea(0, 'x')`),
  loginAttempt('schema', 'makes a schema', () => 'create schema mine'),
  {
    id: 'token-login-hidden-rows',
    what: 'logs in to Postgres as the login of a token, with and without its role, and reads hidden rows',
    expected: 'no row',
    run: (world) =>
      asToken(world, world.tokens.limited, async (client) => {
        const text = `select 1 from ledger.updates where "offset" = ${String(world.hidden.offset)}`;
        const first = (await client.query(text)).rowCount;
        // Before Postgres 16, a member of a role may switch to the role. Since 16 the login of a token may not, and the
        // statement has no effect.
        await client.query(`set role ${world.tokens.limited.role}`).catch(() => undefined);
        const second = (await client.query(text)).rowCount;
        return verdict(first === 0 && second === 0, `${String(first)} and ${String(second)} rows`);
      }),
  },
  {
    id: 'token-login-connections',
    what: 'opens 20 sessions as the login of a token',
    expected: 'at most 8',
    run: async (world) => {
      const { login, token } = world.tokens.all;
      const openClients: Client[] = [];
      for (let index = 0; index < 20; index += 1) {
        const client = await connected(world.urlAs(login, loginPasswordOf(token))).catch(() => undefined);
        if (client !== undefined) openClients.push(client);
      }
      for (const client of openClients) await client.end();
      return verdict(openClients.length <= 8, `${String(openClients.length)} sessions`);
    },
  },
];

/** Creates a token, opens a stream and a session with it, and then ends the token. */
const endedToken = (
  id: string,
  description: string,
  end: (world: World, token: UserToken) => Promise<unknown>,
  sessionMs: number,
): Attempt => ({
  id: `token-${id}`,
  what: description,
  expected: 'its stream and its sessions end, and it is refused',
  run: async (world) => {
    const token = await world.newToken(`${world.server.rolePrefix}_${id.replaceAll('-', '_')}`, [world.party]);
    const client = await connected(world.urlAs(token.login, loginPasswordOf(token.token)));
    const whenDisconnected = new Promise<true>((resolve) => client.once('end', () => resolve(true)));
    const stream = requestQueryPage(`${world.httpUrl}/changes`, { headers: bearer(token.token) });
    await end(world, token);
    const { body } = await stream;
    const endedFirst = await Promise.race([
      whenDisconnected,
      waitFor('the session ends', () => undefined, sessionMs).catch(() => false),
    ]);
    const { status } = await queryWithToken(world, token.token, 'select 1');
    await client.end().catch(() => undefined);
    return verdict(
      endedFirst === true && status === 401,
      `session ended: ${String(endedFirst)}; then status ${String(status)}; ${body.slice(-80)}`,
    );
  },
});

const endedTokenAttempts: readonly Attempt[] = [
  endedToken(
    'revoked',
    'uses a token that is revoked',
    (world, { id }) => world.succeed(['reader-token', 'revoke', id]),
    10_000,
  ),
  endedToken(
    'revoked-with-objects',
    'alters its own defaults, so that its login cannot be dropped',
    async (world, token) => {
      await asToken(world, token, async (client) => {
        await client.query('set session characteristics as transaction read write');
        await client.query('alter default privileges grant select on tables to public');
      });
      await world.succeed(['reader-token', 'revoke', token.id]);
    },
    10_000,
  ),
  {
    id: 'token-of-role-made-again',
    what: 'uses a token whose role was dropped and made again',
    expected: 'status 401',
    run: async (world) => {
      const role = `${world.server.rolePrefix}_again`;
      const { token } = await world.newToken(role, []);
      await world.admin.query(`drop owned by ${role}; drop role ${role}`);
      await world.succeed(['grant-reader', role]);
      const { status } = await queryWithToken(world, token, 'select 1');
      return verdict(status === 401, `status ${String(status)}`);
    },
  },
  {
    id: 'token-of-role-that-may-write',
    what: 'uses a token whose role was given the right to change a table',
    expected: 'status 401 as long as it has that right',
    run: async (world) => {
      const { role, token } = world.tokens.all;
      await world.admin.query(`grant update on ledger.stream to ${role}`);
      const { status } = await queryWithToken(world, token, 'select 1');
      await world.admin.query(`revoke update on ledger.stream from ${role}`);
      return verdict(status === 401, `status ${String(status)}`);
    },
  },
  {
    id: 'token-guessed-200-times',
    what: 'guesses 200 tokens at once',
    expected: 'each gets 401 or 503, and a holder of a token gets responses meanwhile',
    run: async (world) => {
      const guessedToken = (index: number): string => `lir_${String(index).padStart(43, 'B')}`;
      const guessedResponses = Array.from({ length: 200 }, (_, index) =>
        queryWithToken(world, guessedToken(index), 'select 1'),
      );
      const validResponse = await queryWithToken(world, world.tokens.all.token, 'select 1');
      const statuses = new Set((await Promise.all(guessedResponses)).map(({ status }) => status));
      const isHeld = validResponse.status === 200 && [...statuses].every((status) => status === 401 || status === 503);
      return verdict(isHeld, `guesses: ${[...statuses].join(', ')}; the holder: ${String(validResponse.status)}`);
    },
  },
  {
    id: 'token-in-the-log',
    what: 'sends tokens in every part of a request, and reads the log',
    expected: 'no token in the log',
    run: async (world) => {
      const { token } = world.tokens.all;
      await requestQueryPage(`${world.httpUrl}/changes?after=${token}`, {
        headers: { 'user-agent': token, referer: token },
        most: 1,
      });
      await requestQueryPage(`${world.httpUrl}/query?token=${token}`, {
        method: 'POST',
        headers: bearer(token),
        body: token,
      });
      return world.indexer.output().includes(token.slice(4))
        ? verdict(false, 'the token is in the log')
        : heldVerdict('not in the log');
    },
  },
];

export const tokens: Group = {
  name: 'tokens',
  what: 'tokens of readers',
  quick: true,
  attempts: [...tokenUrlAttempts, ...overviews, ...logins, ...endedTokenAttempts],
};

export const tokenExpiry: Group = {
  name: 'token-expiry',
  what: 'a token that expires while it is used',
  quick: false,
  attempts: [
    endedToken(
      'expired',
      'uses a token that expires',
      async (world, { id }) => {
        await world.admin.query(
          `update ledger.reader_tokens set expires_at = now() + interval '2 seconds' where id = $1`,
          [id],
        );
      },
      90_000,
    ),
  ],
};
