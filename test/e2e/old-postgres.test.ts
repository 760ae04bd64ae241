/**
 * Tests a Postgres server that is too old for the tables. Only `npm run test:matrix` provides such a server; other runs
 * skip this file.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createTestDatabase, query, type TestDatabase } from '../support/database.ts';
import { allOutput, runToEnd, schema } from './runs/bad-input-run.ts';
import { needs } from '../support/skips/needs.ts';
import { oldServerSkipReason } from '../support/skips/server-version.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

it.each([[['run']], [['migrate']]])(
  'command %j exits with 78 on an old Postgres and names the required version',
  needs(oldServerSkipReason),
  async (argv) => {
    const { code, stderr } = await runToEnd({ DATABASE_URL: database.url, LEDGER_URL: 'http://127.0.0.1:9' }, argv);
    expect(code, allOutput()).toBe(78);
    expect(stderr).toMatch(/STORE_VERSION_UNSUPPORTED: Postgres 1[0-3]\S* is too old: 14 or newer is needed/);
    expect(await query(database.url, `select from pg_namespace where nspname like '${schema}%'`)).toEqual([]);
  },
);
