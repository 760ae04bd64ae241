/** `check` as a writer that lacks a right. Each right that `grant-roles` grants is revoked in turn. */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { migrateCommand } from '../../src/cli/follow/migrate.ts';
import { grantRolesCommand } from '../../src/cli/roles/grant-roles.ts';
import { openDatabase, type Database } from '../../src/store/connection/database.ts';
import { checkWriterRights } from '../../src/store/roles/writer-trial.ts';
import { programInProcess } from '../cli/in-process.ts';
import { createTestDatabase, query, type TestDatabase } from '../support/database.ts';
import { runCommand } from '../support/run-command.ts';

const prefix = `trial_${randomBytes(4).toString('hex')}`;
const role = `${prefix}_writer`;
let testDatabase: TestDatabase;
let writerUrl: string;
let database: Database;

/** All rights of the writer in the catalog that PUBLIC does not have, except rights to read. */
async function grantedRights(): Promise<readonly string[]> {
  const rows = await query(
    testDatabase.url,
    `select lower(privilege_type) || ' on ' || table_name as "right" from information_schema.role_table_grants
      where grantee = '${role}' and table_schema = 'ledger' and privilege_type <> 'SELECT'
     union
     select 'update (' || quote_ident(column_name) || ') on ' || table_name from information_schema.role_column_grants
      where grantee = '${role}' and table_schema = 'ledger' and privilege_type = 'UPDATE'
     union
     select format('execute on function %s', p.oid::regprocedure) from pg_proc p, aclexplode(p.proacl) a
      where p.pronamespace = 'ledger'::regnamespace and a.grantee = '${role}'::regrole
        and not exists (select from aclexplode(p.proacl) everybody where everybody.grantee = 0)
     order by 1`,
  );
  return rows.map((row) => String(row['right']));
}

/** Sorts rights without differences in spaces and quotes. */
const sortTexts = (rights: readonly string[]): readonly string[] =>
  rights.map((right) => right.replaceAll(', ', ',').replaceAll('"', '')).toSorted();

async function withoutRight<T>(right: string, work: () => Promise<T>): Promise<T> {
  const storageRight = right.replace(' on ', ' on ledger.').replace('ledger.function ', 'function ');
  await query(testDatabase.url, `revoke ${storageRight} from ${role}`);
  try {
    return await work();
  } finally {
    await query(testDatabase.url, `grant ${storageRight} to ${role}`);
  }
}

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  const env = { DATABASE_URL: testDatabase.url };
  await runCommand(migrateCommand, [], env);
  await runCommand(grantRolesCommand, ['--prefix', prefix], env);
  await query(testDatabase.url, `alter role ${role} password 'secret'`);
  writerUrl = Object.assign(new URL(testDatabase.url), { username: role, password: 'secret' }).href;
  database = openDatabase({ url: writerUrl, schema: 'ledger', statementTimeoutMs: 60_000, applicationName: 'trial' });
});
afterAll(async () => {
  await database.close(0);
  const requiredRoles = ['owner', 'migrator', 'writer', 'redactor', 'reader']
    .map((kind) => `${prefix}_${kind}`)
    .join(', ');
  await testDatabase.drop();
  await query(process.env['TEST_POSTGRES_URL'] ?? '', `drop role if exists ${requiredRoles}`);
});

describe('rights of the writer', () => {
  it('are complete after grant-roles, and check reports no missing right', async () => {
    expect((await checkWriterRights(database)).missing).toEqual([]);
    const { stdout } = await programInProcess(['check', '--json'], { DATABASE_URL: writerUrl });
    expect(stdout).toContain('"name":"rights to write","state":"pass"');
  });

  it('are all reported as missing if all are revoked', async () => {
    const grants = await grantedRights();
    expect(grants.length).toBeGreaterThan(100);
    await query(
      testDatabase.url,
      `revoke insert, update, delete on all tables in schema ledger from ${role};
       revoke execute on all functions in schema ledger from ${role}`,
    );
    expect(sortTexts((await checkWriterRights(database)).missing)).toEqual(sortTexts(grants));
    await runCommand(grantRolesCommand, ['--prefix', prefix], { DATABASE_URL: testDatabase.url });
    expect((await checkWriterRights(database)).missing).toEqual([]);
  });

  it.each([
    ['redactor', 'has the rights of the redactor'],
    ['reader', 'has the rights of a reader of everything'],
  ])('are missing for the %s, and check reports its role', async (kind, rights) => {
    const login = `${prefix}_${kind}`;
    await query(testDatabase.url, `alter role ${login} login password 'secret'`);
    const url = Object.assign(new URL(testDatabase.url), { username: login, password: 'secret' }).href;
    const { code, stdout } = await programInProcess(['check', '--json'], { DATABASE_URL: url });
    const { checks } = JSON.parse(stdout) as { checks: readonly { name: string; found: string; fix?: string }[] };
    const line = checks.find(({ name }) => name === 'rights to write');
    expect(code).toBe(1);
    expect(line?.found).toContain(
      `role "${login}" ${rights} (tested without changing a row), but lacks these rights of the writer: insert on`,
    );
    expect(line?.fix).toContain('as the writer role of `ledger-indexer grant-roles`');
  });

  it('are reported as those of a reader if the redactor lacks one of its rights', async () => {
    const [prunedRight, login] = ['update (pruned_to_offset) on ledger.stream', `${prefix}_redactor`];
    const url = Object.assign(new URL(testDatabase.url), { username: login, password: 'secret' }).href;
    await query(testDatabase.url, `alter role ${login} login password 'secret'; revoke ${prunedRight} from ${login}`);
    const { stdout } = await programInProcess(['check', '--json'], { DATABASE_URL: url });
    await query(testDatabase.url, `grant ${prunedRight} to ${login}`);
    expect(stdout).toContain('has the rights of a reader of everything');
  });

  it.each([
    'insert on completions',
    'update (parties) on completion_ranges',
    'delete on webhook_dead_letters',
    'execute on function "ledger".mark_unhosted(bigint, boolean)',
  ])('are reported as incomplete without %s', async (right) => {
    await withoutRight(right, async () => {
      const { code, stdout } = await programInProcess(['check', '--json'], { DATABASE_URL: writerUrl });
      const { checks } = JSON.parse(stdout) as { checks: readonly { name: string; found: string; fix?: string }[] };
      const line = checks.find(({ name }) => name === 'rights to write');
      expect(code).toBe(1);
      expect(line?.found).toBe(`role "${role}" lacks ${right}`);
      expect(line?.fix).toContain(`grant ${right} to "${role}"`);
    });
  });
});
