/**
 * Schemas that another role created before the first migration, under the names that the project uses. No role that
 * migrates creates anything in them.
 */
import { randomBytes } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { grantRolesCommand } from '../../src/cli/roles/grant-roles.ts';
import { openDatabase, type Database } from '../../src/store/connection/database.ts';
import { assertMigrated, migrate, printMigrations } from '../../src/store/schema/migrations.ts';
import { prepareStaging } from '../../src/store/history/staging.ts';
import { createTestDatabase, query, type TestDatabase } from '../support/database.ts';
import { identity } from '../support/schemas.ts';
import { runCommand } from '../support/run-command.ts';

const prefix = `squat_${randomBytes(4).toString('hex')}`;
const [mallory, app] = [`${prefix}_mallory`, `${prefix}_app`];
const roles = ['owner', 'migrator', 'writer', 'redactor', 'reader'].map((kind) => `${prefix}_${kind}`);
const refusal = { code: 'SCHEMA_OWNER_MISMATCH', retry: 'fatal', exitCode: 78 };
let testDatabase: TestDatabase;
const openDatabases: Database[] = [];

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  const name = new URL(testDatabase.url).pathname.slice(1);
  for (const role of [mallory, app]) {
    await query(testDatabase.url, `create role ${role} login; grant create on database "${name}" to ${role}`);
  }
});
afterEach(async () => {
  await Promise.all(openDatabases.splice(0).map((database) => database.close(500)));
});
afterAll(async () => {
  await testDatabase.drop();
  await query(process.env['TEST_POSTGRES_URL'] ?? '', `drop role if exists ${[mallory, app, ...roles].join(', ')}`);
});

/** Opens the database as a role, or as the superuser. */
function openAs(schema: string, role?: string): Database {
  const url = new URL(testDatabase.url);
  if (role !== undefined) url.searchParams.set('options', `-c role=${role}`);
  const options = { schema, statementTimeoutMs: 60_000, applicationName: 'test squatter' };
  const database = openDatabase({ url: url.href, ...options });
  openDatabases.push(database);
  return database;
}

async function objectsIn(schemaName: string): Promise<unknown> {
  const [row] = await query(
    testDatabase.url,
    `select count(*)::int as made from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname in ('${schemaName}', '${schemaName}_explore', '${schemaName}_typed', '${schemaName}_pqs')`,
  );
  return row?.['made'];
}

/** Marks the views and functions of readers as outdated, so that they are re-created. */
async function outdate(schemaName: string): Promise<void> {
  await query(testDatabase.url, `comment on schema ${schemaName}_explore is 'read side of another version'`);
}

describe('schema of an untrusted role', () => {
  it.each(['', '_explore', '_typed', '_pqs'])('is rejected by the first migrate of any role (%s)', async (suffix) => {
    const schemaName = `first${suffix}`;
    const squattedSchema = `${schemaName}${suffix}`;
    await query(
      testDatabase.url,
      `create schema ${squattedSchema} authorization ${mallory}; grant all on schema ${squattedSchema} to public`,
    );
    for (const database of [openAs(schemaName), openAs(schemaName, app)]) {
      await expect(migrate(database)).rejects.toMatchObject(refusal);
      await expect(migrate(database)).rejects.toThrow(`schema "${squattedSchema}" belongs to role "${mallory}"`);
    }
    const migrationSql = await printMigrations(schemaName);
    await expect(query(testDatabase.url, migrationSql)).rejects.toThrow(
      `schema "${squattedSchema}" belongs to role "${mallory}"`,
    );
    expect(await objectsIn(schemaName)).toBe(0);
  });

  it('is rejected even if it looks like a stream that lacks a migration', async () => {
    const squatterDatabase = openAs('lookalike', mallory);
    await migrate(squatterDatabase);
    await query(
      testDatabase.url,
      `grant usage on schema lookalike to ${app}; grant select on all tables in schema lookalike to ${app}`,
    );
    await query(testDatabase.url, `delete from lookalike.schema_migrations where id like '0005%'`);
    await expect(migrate(openAs('lookalike'))).rejects.toMatchObject(refusal);
    await expect(migrate(openAs('lookalike', app))).rejects.toMatchObject(refusal);
    await query(testDatabase.url, `insert into lookalike.schema_migrations (id) values ('0005_writer_functions')`);
    await outdate('lookalike');
    await expect(migrate(openAs('lookalike'))).rejects.toMatchObject(refusal);
  });

  it('is rejected by reseed', async () => {
    await query(testDatabase.url, `create schema gathered_reseed authorization ${mallory}`);
    const stagingResult = prepareStaging(openAs('gathered_reseed'), 'gathered', 'reseed', { identity, notBefore: 0 });
    await expect(stagingResult).rejects.toMatchObject(refusal);
  });
});

describe('schema of a trusted role', () => {
  it('is accepted if the administrator or the migrating role owns it', async () => {
    await query(
      testDatabase.url,
      `create schema given authorization ${app}; create schema kept; grant all on schema kept to ${app}`,
    );
    for (const schemaName of ['given', 'kept']) {
      const database = openAs(schemaName, app);
      await migrate(database);
      await expect(assertMigrated(database)).resolves.toBeUndefined();
    }
  });

  it('is accepted by the printed migrations', async () => {
    await query(testDatabase.url, 'create schema printed');
    await query(testDatabase.url, await printMigrations('printed'));
    await expect(assertMigrated(openAs('printed'))).resolves.toBeUndefined();
  });

  it('is accepted if the owner role of grant-roles owns it', async () => {
    await migrate(openAs(prefix));
    const env = { DATABASE_URL: testDatabase.url, POSTGRES_SCHEMA: prefix };
    await runCommand(grantRolesCommand, ['--prefix', prefix], env);
    for (const role of [`${prefix}_owner`, undefined]) {
      await outdate(prefix);
      const database = openAs(prefix, role);
      await migrate(database);
      await expect(assertMigrated(database)).resolves.toBeUndefined();
    }
  });
});
