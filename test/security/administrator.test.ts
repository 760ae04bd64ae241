/** Roles that an administrator who is not a superuser creates, as on managed servers. */
import { randomBytes } from 'node:crypto';
import { PassThrough } from 'node:stream';
import { Client } from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { grantReaderCommand } from '../../src/cli/roles/grant-reader.ts';
import { grantRolesCommand } from '../../src/cli/roles/grant-roles.ts';
import { readerTokenCommand } from '../../src/cli/roles/reader-token.ts';
import { migrateCommand } from '../../src/cli/follow/migrate.ts';
import { loginPasswordOf } from '../../src/reader-token.ts';
import { createTestDatabase, query, type TestDatabase } from '../support/database.ts';
import { runCommand } from '../support/run-command.ts';
import { attempt } from './attempts.ts';

const prefix = `managed_${randomBytes(4).toString('hex')}`;
const admin = `${prefix}_admin`;
const kinds = ['owner', 'migrator', 'writer', 'redactor', 'reader'];
let testDatabase: TestDatabase;
let url: string;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  const adminUrl = new URL(testDatabase.url);
  await query(testDatabase.url, `create role ${admin} login createrole password 'admin'`);
  await query(testDatabase.url, `alter database ${adminUrl.pathname.slice(1)} owner to ${admin}`);
  [adminUrl.username, adminUrl.password] = [admin, 'admin'];
  url = adminUrl.href;
});
afterAll(async () => {
  await testDatabase.drop();
  const roles = [...kinds.map((kind) => `${prefix}_${kind}`), admin].join(', ');
  await query(process.env['TEST_POSTGRES_URL'] ?? '', `drop role if exists ${roles}`);
});

it('grant-roles works as an administrator without BYPASSRLS, and grant-reader --party fails', async () => {
  await runCommand(migrateCommand, [], { DATABASE_URL: url });
  const lines: string[] = [];
  for (let time = 0; time < 2; time += 1) {
    await runCommand(
      grantRolesCommand,
      ['--prefix', prefix],
      { DATABASE_URL: url },
      { print: (line) => lines.push(line) },
    );
  }
  expect(lines.at(-1)).toContain('BYPASSRLS');
  const writer = new Client({ connectionString: testDatabase.url });
  await writer.connect();
  await writer.query(`set role ${prefix}_writer`);
  expect(await attempt(writer, `insert into ledger.synchronizers values (1, 'x')`)).toBeUndefined();
  expect(await attempt(writer, 'delete from ledger.synchronizers')).toBe('42501');
  await writer.end();
  const limitedGrant = runCommand(grantReaderCommand, [`${prefix}_x`, '--party', 'a::1'], { DATABASE_URL: url });
  await expect(limitedGrant).rejects.toMatchObject({ code: 'GRANT_READER_REFUSED' });
});

it('reader-token revoke drops the login and its large objects without superuser rights', async () => {
  const role = `${prefix}_reading`;
  await runCommand(grantReaderCommand, [role], { DATABASE_URL: url });
  let token = '';
  const io = { print: (line: string) => void (token = line), stderr: new PassThrough() };
  await runCommand(readerTokenCommand, ['create', '--role', role], { DATABASE_URL: url }, io);
  const [tokenRow] = await query(url, 'select id, login_name as login from ledger.reader_tokens');
  const roleUrl = new URL(url);
  [roleUrl.username, roleUrl.password] = [String(tokenRow?.['login']), loginPasswordOf(token)];
  await query(roleUrl.href, `begin read write; select lo_from_bytea(0, 'x'); commit`);
  await runCommand(
    readerTokenCommand,
    ['revoke', String(tokenRow?.['id'])],
    { DATABASE_URL: url },
    { print: () => undefined },
  );
  expect(await query(url, `select from pg_roles where rolname = '${roleUrl.username}'`)).toEqual([]);
  expect(await query(url, 'select from pg_largeobject_metadata')).toEqual([]);
  await query(testDatabase.url, `drop owned by ${role}; drop role ${role}`);
});

it('grant-roles rejects an existing role of the same name with other rights', async () => {
  await query(testDatabase.url, `alter role ${prefix}_writer createdb`);
  const secondGrant = runCommand(grantRolesCommand, ['--prefix', prefix], { DATABASE_URL: url });
  await expect(secondGrant).rejects.toMatchObject({
    code: 'GRANT_ROLES_REFUSED',
    message: expect.stringContaining('_writer') as unknown,
  });
  await query(testDatabase.url, `alter role ${prefix}_writer nocreatedb`);
});

it.each([
  ['USAGE', ['--prefix', 'Robert"; drop']],
  ['USAGE', ['--prefix', 'pg_x']],
  ['USAGE', ['--password-dir', '/nowhere']],
  ['USAGE', ['--nonsense']],
])('grant-roles fails with %s for %j', async (code, argv) => {
  await expect(runCommand(grantRolesCommand, argv, { DATABASE_URL: url })).rejects.toMatchObject({ code });
});
