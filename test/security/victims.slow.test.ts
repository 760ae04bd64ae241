/**
 * A role plants code in schema `public`. Sessions with that schema on their search path must not run this code, even
 * sessions of a superuser.
 */
import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestDatabase, query, type TestDatabase } from '../support/database.ts';
import { plant, runsPlanted } from './code-for-a-victim.ts';
import { fillWithTwoOwners } from './two-owners.ts';

const mallory = `mallory_${randomBytes(4).toString('hex')}`;
let created: TestDatabase;
let victim: Client;

beforeAll(async () => {
  created = await createTestDatabase();
  await fillWithTwoOwners(created.url);
  await query(created.url, `create role ${mallory}; grant create on schema public to ${mallory}`);
  victim = new Client({ connectionString: created.url });
  await victim.connect();
  // Each attempt sets its own search path.
  await victim.query('set search_path = pg_catalog');
  await plant(victim, mallory);
});
afterAll(async () => {
  await victim.end();
  await created.drop();
  await query(process.env['TEST_POSTGRES_URL'] ?? '', `drop role if exists ${mallory}`);
});

describe('code that another role created in schema public', () => {
  it('runs in a function that calls it by an unqualified name', async () => {
    const naming = `create function explore.naming() returns pg_catalog.jsonb language plpgsql as
      $$ begin return jsonb_build_object('a'::pg_catalog.text, '1'::pg_catalog.jsonb); end $$`;
    await victim.query(naming);
    const found = await runsPlanted(victim, 'public');
    await victim.query('drop function explore.naming()');
    expect(found.some((line) => line.includes('explore.naming'))).toBe(true);
  });

  it.each(['public', 'public, pg_catalog', 'explore, public, pg_catalog, pg_temp'])(
    'is not run by any function, procedure or view with the search path %s',
    async (path) => {
      expect(await runsPlanted(victim, path)).toEqual([]);
    },
  );
});
