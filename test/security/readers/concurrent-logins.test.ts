/** Two sessions change the login of a reader token, or the rights of readers, at the same time. */
import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openDatabase, type Database } from '../../../src/store/connection/database.ts';
import { grantReader } from '../../../src/store/roles/reader-role.ts';
import { dropLogin } from '../../../src/store/roles/token-logins.ts';
import { query, type TestDatabase } from '../../support/database.ts';
import { createMigratedDatabase } from '../../support/migrated-database.ts';

let [testDatabase, database, otherClient]: [TestDatabase, Database, Client] = [] as never;
const login = `ledger_token_${randomBytes(4).toString('hex')}`;

beforeAll(async () => {
  testDatabase = await createMigratedDatabase();
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

describe('grantReader()', () => {
  it('grants rights although another session has just changed the rights on a table', async () => {
    const [role, other] = [login.replace('token', 'reader'), login.replace('token', 'other')];
    await otherClient.query(`create role ${role}; create role ${other}`);
    try {
      await otherClient.query(`begin; grant select on ledger.updates to ${other}`);
      const grantResult = grantReader(database, { role, parties: [], password: undefined });
      const waitingSql = `select from pg_stat_activity where wait_event_type = 'Lock' and query ilike 'grant%' and datname = current_database()`;
      await expect.poll(async () => (await query(testDatabase.url, waitingSql)).length, { timeout: 10_000 }).toBe(1);
      await otherClient.query('commit');
      await grantResult;
      const mayRead = `select has_table_privilege('${role}', 'ledger.updates', 'select') as may`;
      expect(await query(testDatabase.url, mayRead)).toEqual([{ may: true }]);
    } finally {
      await otherClient.query('rollback');
      for (const name of [role, other]) await otherClient.query(`drop owned by ${name}; drop role ${name}`);
    }
  });
});
