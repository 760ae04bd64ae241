/** Two sessions change the login of a reader token at the same time. */
import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openDatabase, type Database } from '../../../src/store/connection/database.ts';
import { dropLogin } from '../../../src/store/roles/token-logins.ts';
import { createTestDatabase, query, type TestDatabase } from '../../support/database.ts';

let [created, database, other]: [TestDatabase, Database, Client] = [] as never;
const login = `ledger_token_${randomBytes(4).toString('hex')}`;

beforeAll(async () => {
  created = await createTestDatabase();
  database = openDatabase({ url: created.url, schema: 'ledger', statementTimeoutMs: 10_000, applicationName: 'test' });
  other = new Client({ connectionString: created.url });
  await other.connect();
});
afterAll(async () => {
  await other.end();
  await database.close();
  await created.drop();
});

describe('dropLogin()', () => {
  it.each([
    ['changed', `alter role ${login} nologin`],
    ['dropped', `drop role ${login}`],
  ])('drops a login although another session has just %s it', async (_, statement) => {
    await other.query(`create role ${login} login`);
    await other.query(`begin; ${statement}`);
    const dropped = database.withClient((client) => dropLogin(client, login));
    const waits = `select from pg_stat_activity where wait_event_type = 'Lock' and query like 'alter role "${login}"%'`;
    await expect.poll(async () => (await query(created.url, waits)).length, { timeout: 10_000 }).toBe(1);
    await other.query('commit');
    await dropped;
    expect(await query(created.url, `select from pg_roles where rolname = '${login}'`)).toEqual([]);
  });
});
