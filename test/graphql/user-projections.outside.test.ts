/** PostGraphile serves the projections that users add: with keys and relations, and only to roles that may read them. */
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { graphqlCommand } from '../../src/cli/inspect/graphql.ts';
import { grantReaderCommand } from '../../src/cli/roles/grant-reader.ts';
import { transfersSql, UserWorld } from '../projections/users/world.ts';
import { query } from '../support/database.ts';
import { runCommand } from '../support/run-command.ts';
import { needs } from '../support/skips/needs.ts';
import { limitsSkipReason } from '../support/skips/server-version.ts';
import { bearer, postgraphileSkipReason, startPostgraphile, type Postgraphile } from './postgraphile.ts';

const suffix = randomBytes(4).toString('hex');
const roles = { login: `graphql_${suffix}`, desk: `desk_${suffix}`, one: `one_${suffix}` };
const secret = randomBytes(32).toString('hex');
let user: UserWorld;
let api: Postgraphile;

type Rows = Readonly<Record<string, readonly Record<string, unknown>[]>>;

describe('GraphQL API with projections of users', needs(postgraphileSkipReason ?? limitsSkipReason), () => {
  beforeAll(async () => {
    user = await UserWorld.open(60);
    await user.add('transfers', transfersSql, '--key', 'node_id', '--party-column', 'sender');
    await user.add('movements', transfersSql);
    await user.fill();
    const env = user.world.env();
    const party = await user.world.row(
      'select sender from explore.token_transfers where sender is not null group by 1 order by count(*) desc, 1 limit 1',
    );
    await runCommand(grantReaderCommand, [roles.desk, '--shared-database'], env);
    await runCommand(grantReaderCommand, [roles.one, '--shared-database', '--party', String(party['sender'])], env);
    await query(user.url, `create role ${roles.login} login noinherit password 'kept'`);
    await query(user.url, `grant ${roles.one}, ${roles.desk} to ${roles.login}`);
    let tags = '';
    await runCommand(graphqlCommand, ['--postgraphile'], env, { write: (text) => void (tags += text) });
    writeFileSync(join(user.folder, 'secret'), `${secret}\n`);
    const url = new URL(user.url);
    [url.username, url.password] = [roles.login, 'kept'];

    api = await startPostgraphile(tags, {
      DATABASE_URL: url.href,
      GRAPHQL_JWT_SECRET_FILE: join(user.folder, 'secret'),
      GRAPHQL_JWT_AUDIENCE: 'graphql',
      GRAPHQL_ROLES: JSON.stringify({ desk: roles.desk, one: roles.one }),
    });
  });
  afterAll(async () => {
    await api[Symbol.asyncDispose]();
    const names = Object.values(roles).join(', ');
    await query(user.url, `drop owned by ${names}`);
    await user.close();
    await query(process.env['TEST_POSTGRES_URL'] ?? '', `drop role if exists ${names}`);
  });

  const countOf = async (sql: string): Promise<unknown> => (await user.world.row(sql))['count'];

  it('serves rows, keys and relations, without warnings', async () => {
    const headers = await bearer(secret, 'desk');
    const { data, errors } = await api.ask(
      `{ allDerivedTransfersList(first: 1000, orderBy: [OFFSET_ASC, NODE_ID_ASC]) {
           offset nodeId amount update { updateId } exercise { choice } } }`,
      {},
      headers,
    );
    expect(errors).toEqual([]);
    const rows = (data as Rows)['allDerivedTransfersList'] ?? [];
    expect(rows.length).toBe(await countOf('select count(*)::int as count from derived.transfers'));
    const first = rows.find(({ nodeId }) => nodeId !== null);
    expect(first).toMatchObject({ update: { updateId: expect.any(String) as string }, exercise: { choice: /./ } });
    const { data: one } = await api.ask(
      `query ($o: BigInt!, $n: Int!) { derivedTransferByOffsetAndNodeId(offset: $o, nodeId: $n) { amount } }`,
      { o: first?.['offset'], n: first?.['nodeId'] },
      headers,
    );
    expect(one).toEqual({ derivedTransferByOffsetAndNodeId: { amount: first?.['amount'] } });
    expect(api.log.join('').trim()).toMatch(/^Server listening.*$/);
  });

  it('serves a reader limited to parties its rows of views with a party column, and no others', async () => {
    const headers = await bearer(secret, 'one');
    const { data, errors } = await api.ask('{ allDerivedTransfersList(first: 1000) { sender } }', {}, headers);
    expect(errors).toEqual([]);
    const rows = (data as Rows)['allDerivedTransfersList'] ?? [];
    expect(rows.length).toBeGreaterThan(0);
    expect(rows.length).toBeLessThan(Number(await countOf('select count(*)::int as count from derived.transfers')));
    const refused = await api.ask('{ allDerivedMovementsList(first: 1000) { sender } }', {}, headers);
    expect(refused.errors.map(({ message }) => message)).toEqual([expect.stringContaining('42501')]);
    expect(refused.data?.['allDerivedMovementsList'] ?? null).toBeNull();
  });

  it('has only the views of schema derived', async () => {
    const { data } = await api.ask(
      '{ __schema { queryType { fields { name } } mutationType { fields { name } } } }',
      {},
      await bearer(secret, 'desk'),
    );
    type Fields = Readonly<Record<'queryType' | 'mutationType', { readonly fields: readonly { name: string }[] }>>;
    const { queryType, mutationType } = (data as { __schema: Fields }).__schema;
    expect(
      queryType.fields.map(({ name }) => name).filter((name) => /derived|transfers1|movements1/i.test(name)),
    ).toEqual([
      'derivedTransferByOffsetAndNodeId',
      'allDerivedMovementsList',
      'allDerivedMovements',
      'allDerivedTransfersList',
      'allDerivedTransfers',
    ]);
    expect(mutationType.fields.map(({ name }) => name)).toEqual(['waitForOffset']);
  });
});
