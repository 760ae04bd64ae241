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
let created: TestDatabase;
const opened: Database[] = [];

beforeAll(async () => {
  created = await createTestDatabase();
  const name = new URL(created.url).pathname.slice(1);
  for (const role of [mallory, app]) {
    await query(created.url, `create role ${role} login; grant create on database "${name}" to ${role}`);
  }
});
afterEach(async () => {
  await Promise.all(opened.splice(0).map((database) => database.close(500)));
});
afterAll(async () => {
  await created.drop();
  await query(process.env['TEST_POSTGRES_URL'] ?? '', `drop role if exists ${[mallory, app, ...roles].join(', ')}`);
});

/** Opens the database as a role, or as the superuser. */
function open(schema: string, role?: string): Database {
  const url = new URL(created.url);
  if (role !== undefined) url.searchParams.set('options', `-c role=${role}`);
  const options = { schema, statementTimeoutMs: 60_000, applicationName: 'test squatter' };
  const database = openDatabase({ url: url.href, ...options });
  opened.push(database);
  return database;
}

async function madeIn(storage: string): Promise<unknown> {
  const [row] = await query(
    created.url,
    `select count(*)::int as made from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname in ('${storage}', '${storage}_explore', '${storage}_typed', '${storage}_pqs')`,
  );
  return row?.['made'];
}

/** Marks the views and functions of readers as outdated, so that they are re-created. */
async function outdate(storage: string): Promise<void> {
  await query(created.url, `comment on schema ${storage}_explore is 'read side of another version'`);
}

describe('schema of an untrusted role', () => {
  it.each(['', '_explore', '_typed', '_pqs'])('is rejected by the first migrate of any role (%s)', async (suffix) => {
    const storage = `first${suffix}`;
    const squatted = `${storage}${suffix}`;
    await query(
      created.url,
      `create schema ${squatted} authorization ${mallory}; grant all on schema ${squatted} to public`,
    );
    for (const database of [open(storage), open(storage, app)]) {
      await expect(migrate(database)).rejects.toMatchObject(refusal);
      await expect(migrate(database)).rejects.toThrow(`schema "${squatted}" belongs to role "${mallory}"`);
    }
    const printed = await printMigrations(storage);
    await expect(query(created.url, printed)).rejects.toThrow(`schema "${squatted}" belongs to role "${mallory}"`);
    expect(await madeIn(storage)).toBe(0);
  });

  it('is rejected even if it looks like a stream that lacks a migration', async () => {
    const squatter = open('lookalike', mallory);
    await migrate(squatter);
    await query(
      created.url,
      `grant usage on schema lookalike to ${app}; grant select on all tables in schema lookalike to ${app}`,
    );
    await query(created.url, `delete from lookalike.schema_migrations where id like '0005%'`);
    await expect(migrate(open('lookalike'))).rejects.toMatchObject(refusal);
    await expect(migrate(open('lookalike', app))).rejects.toMatchObject(refusal);
    await query(created.url, `insert into lookalike.schema_migrations (id) values ('0005_writer_functions')`);
    await outdate('lookalike');
    await expect(migrate(open('lookalike'))).rejects.toMatchObject(refusal);
  });

  it('is rejected by reseed', async () => {
    await query(created.url, `create schema gathered_reseed authorization ${mallory}`);
    const prepared = prepareStaging(open('gathered_reseed'), 'gathered', 'reseed', { identity, notBefore: 0 });
    await expect(prepared).rejects.toMatchObject(refusal);
  });
});

describe('schema of a trusted role', () => {
  it('is accepted if the administrator or the migrating role owns it', async () => {
    await query(
      created.url,
      `create schema given authorization ${app}; create schema kept; grant all on schema kept to ${app}`,
    );
    for (const storage of ['given', 'kept']) {
      const database = open(storage, app);
      await migrate(database);
      await expect(assertMigrated(database)).resolves.toBeUndefined();
    }
  });

  it('is accepted by the printed migrations', async () => {
    await query(created.url, 'create schema printed');
    await query(created.url, await printMigrations('printed'));
    await expect(assertMigrated(open('printed'))).resolves.toBeUndefined();
  });

  it('is accepted if the owner role of grant-roles owns it', async () => {
    await migrate(open(prefix));
    const env = { DATABASE_URL: created.url, POSTGRES_SCHEMA: prefix };
    await runCommand(grantRolesCommand, ['--prefix', prefix], env);
    for (const role of [`${prefix}_owner`, undefined]) {
      await outdate(prefix);
      const database = open(prefix, role);
      await migrate(database);
      await expect(assertMigrated(database)).resolves.toBeUndefined();
    }
  });
});
