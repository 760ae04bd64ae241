/** Two sessions change the login of a reader token at the same time. */
import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openDatabase, type Database } from '../../../src/store/connection/database.ts';
import { dropLogin } from '../../../src/store/roles/token-logins.ts';
import { createTestDatabase, query, type TestDatabase } from '../../support/database.ts';

let [testDatabase, database, otherClient]: [TestDatabase, Database, Client] = [] as never;
const login = `ledger_token_${randomBytes(4).toString('hex')}`;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = openDatabase({
    url: testDatabase.url,
    schema: 'ledger',
    statementTimeoutMs: 10_000,
    applicationName: 'test',
  });
  otherClient = new Client({ connectionString: testDatabase.url });
  await otherClient.connect();
});
afterAll(async () => {
  await otherClient.end();
  await database.close();
  await testDatabase.drop();
});

describe('dropLogin()', () => {
  it.each([
    ['changed', `alter role ${login} nologin`],
    ['dropped', `drop role ${login}`],
  ])('drops a login although another session has just %s it', async (_, statement) => {
    await otherClient.query(`create role ${login} login`);
    await otherClient.query(`begin; ${statement}`);
    const dropResult = database.withClient((client) => dropLogin(client, login));
    const waitingSql = `select from pg_stat_activity where wait_event_type = 'Lock' and query like 'alter role "${login}"%'`;
    await expect.poll(async () => (await query(testDatabase.url, waitingSql)).length, { timeout: 10_000 }).toBe(1);
    await otherClient.query('commit');
    await dropResult;
    expect(await query(testDatabase.url, `select from pg_roles where rolname = '${login}'`)).toEqual([]);
  });
});
