/**
 * Tokens whose login has a changed password. Postgres allows every role to change its own password. The password that
 * the indexer uses is then rejected.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loginPasswordOf } from '../../src/reader-token.ts';
import { query } from '../support/database.ts';
import { needs } from '../support/skips/needs.ts';
import { limitsSkipReason } from '../support/skips/server-version.ts';
import { forwardedHeaders, TokenWorld, type Reader } from './token-world.ts';

describe('a token whose login changed its password', needs(limitsSkipReason), () => {
  let world: TokenWorld;
  let [reader, otherReader]: Reader[] = [];
  let login: string;
  beforeAll(async () => {
    world = await TokenWorld.open();
    const [party = ''] = await world.parties(1);
    reader = await world.reader(party);
    otherReader = await world.readerOf(reader.role, party);
    const rows = await world.sql(`select login_name as login from ledger.reader_tokens where id = '${reader.id}'`);
    login = String(rows[0]?.['login']);
    const url = new URL(world.history.database.url);
    [url.username, url.password] = [login, loginPasswordOf(reader.token)];
    await query(url.href, `begin read write; alter role current_user password 'mine'; commit`);
  });
  afterAll(() => world.close());

  const runQuery = async (token = '') => {
    const { status, body } = await world.question(token, 'select 1 as n');
    return { status, body: JSON.parse(body) as Readonly<Record<string, unknown>> };
  };

  it('is rejected by /query with the cause and the commands that fix it', async () => {
    expect(await runQuery(reader?.token)).toEqual({
      status: 403,
      body: {
        error: `Postgres refuses the password of "${login}", the login of this token: it was changed, which every holder of the token can do`,
        code: 'READER_TOKEN_LOGIN_REFUSED',
        remedy:
          `run \`ledger-indexer reader-token revoke ${String(reader?.id)}\` and \`ledger-indexer reader-token create --role ${String(reader?.role)}\`, ` +
          'and give the new token to its users',
      },
    });
  });

  it('is logged once, without its text', async () => {
    for (let index = 0; index < 2; index += 1) expect((await runQuery(reader?.token)).status).toBe(403);
    const lines = world.indexer.log.filter((line) => line.includes('login of a token refused'));
    expect(lines.length).toBe(1);
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ level: 'warn', err: { code: 'READER_TOKEN_LOGIN_REFUSED' } });
    expect(lines[0]).toContain(`reader-token revoke ${String(reader?.id)}`);
    expect(lines[0]).not.toContain('lir_');
  });

  it('is accepted by /changes, and another token of its role by /query', async () => {
    const response = await world.request('/changes', {
      ...forwardedHeaders,
      authorization: `Bearer ${String(reader?.token)}`,
    });
    expect(response.status).toBe(200);
    expect((await runQuery(otherReader?.token)).status).toBe(200);
  });

  it('has a different remedy from a token whose login has NOLOGIN', async () => {
    const rows = await world.sql(
      `select login_name as login from ledger.reader_tokens where id = '${String(otherReader?.id)}'`,
    );
    const loginName = String(rows[0]?.['login']);
    await world.sql(`alter role "${loginName}" nologin`);
    const { status, body } = await runQuery(otherReader?.token);
    expect([status, body['code']]).toEqual([403, 'READER_TOKEN_LOGIN_REFUSED']);
    expect(body['remedy']).toContain(`alter role "${loginName}" login`);
  });

  it('is replaced by a working token with the commands of the remedy', async () => {
    await world.token('revoke', String(reader?.id));
    const { lines } = await world.token('create', '--role', String(reader?.role));
    expect(await runQuery(lines[0])).toMatchObject({ status: 200, body: { rows: [['1']] } });
  });
});
