/** A server that is too old to hold the tables. `npm run test:matrix` gives one; the others of this file's runs are not. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createTestDatabase, query, type TestDatabase } from '../support/database.ts';
import { everythingPrinted, runToEnd, schema } from './runs/bad-input-run.ts';

const [server] = await query(process.env['TEST_POSTGRES_URL'] ?? '', 'show server_version_num');
const isOld = Number(server?.['server_version_num']) < 140_000;
if (!isOld) console.log('Postgres is not older than 14 here: how it is refused is tried by npm run test:matrix');

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

it.skipIf(!isOld).each([[['run']], [['migrate']]])(
  '%j ends with 78, says what is needed, and makes nothing',
  async (argv) => {
    const { code, stderr } = await runToEnd({ DATABASE_URL: database.url, LEDGER_URL: 'http://127.0.0.1:9' }, argv);
    expect(code, everythingPrinted()).toBe(78);
    expect(stderr).toMatch(/STORE_TOO_OLD: Postgres 1[0-3]\S* is too old: 14 or newer is needed/);
    expect(await query(database.url, `select from pg_namespace where nspname like '${schema}%'`)).toEqual([]);
  },
);
