/**
 * A role plants code in schema `public`. Sessions with that schema on their search path must not run this code, even
 * sessions of a superuser.
 */
import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestDatabase, query, type TestDatabase } from '../support/database.ts';
import { createHijacks, findHijacks } from './code-for-a-victim.ts';
import { fillWithTwoOwners } from './two-owners.ts';

const mallory = `mallory_${randomBytes(4).toString('hex')}`;
let testDatabase: TestDatabase;
let victim: Client;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  await fillWithTwoOwners(testDatabase.url);
  await query(testDatabase.url, `create role ${mallory}; grant create on schema public to ${mallory}`);
  victim = new Client({ connectionString: testDatabase.url });
  await victim.connect();
  // Each attempt sets its own search path.
  await victim.query('set search_path = pg_catalog');
  await createHijacks(victim, mallory);
});
afterAll(async () => {
  await victim.end();
  await testDatabase.drop();
  await query(process.env['TEST_POSTGRES_URL'] ?? '', `drop role if exists ${mallory}`);
});

describe('code that another role created in schema public', () => {
  it('runs in a function that calls it by an unqualified name', async () => {
    const namingSql = `create function explore.naming() returns pg_catalog.jsonb language plpgsql as
      $$ begin return jsonb_build_object('a'::pg_catalog.text, '1'::pg_catalog.jsonb); end $$`;
    await victim.query(namingSql);
    const hijacks = await findHijacks(victim, 'public');
    await victim.query('drop function explore.naming()');
    expect(hijacks.some((line) => line.includes('explore.naming'))).toBe(true);
  });

  it.each(['public', 'public, pg_catalog', 'explore, public, pg_catalog, pg_temp'])(
    'is not run by any function, procedure or view with the search path %s',
    async (path) => {
      expect(await findHijacks(victim, path)).toEqual([]);
    },
  );
});
