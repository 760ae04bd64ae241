/**
 * Functions of Postgres that every login may call by default, after only `grant-reader` and `reader-token create` have
 * created roles.
 */
import { randomBytes } from 'node:crypto';
import { PassThrough } from 'node:stream';
import { Client } from 'pg';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { migrateCommand } from '../../../src/cli/follow/migrate.ts';
import { grantReaderCommand } from '../../../src/cli/roles/grant-reader.ts';
import { readerTokenCommand } from '../../../src/cli/roles/reader-token.ts';
import { loginPasswordOf } from '../../../src/reader-token.ts';
import { createTestDatabase, query, type TestDatabase } from '../../support/database.ts';
import { runCommand } from '../../support/run-command.ts';
import { attempt } from '../attempts.ts';

const lock = `select pg_advisory_lock(hashtext('ledger-indexer writer'), hashtext('ledger'))`;
const statements = [lock, 'select pg_try_advisory_xact_lock_shared(7)', `select lo_from_bytea(0, 'x')`];

let testDatabase: TestDatabase;
let prefix: string;

beforeEach(async () => {
  testDatabase = await createTestDatabase();
  prefix = `open_${randomBytes(4).toString('hex')}`;
  const logins = ['owner', 'inserting', 'deleting'].map((kind) => `create role ${prefix}_${kind} login password 'x'`);
  await query(
    testDatabase.url,
    `${logins.join('; ')}; grant create on database ${nameOf(testDatabase.url)} to ${prefix}_owner`,
  );
  await runCommand(migrateCommand, [], { DATABASE_URL: urlOf('owner') });
  await query(
    testDatabase.url,
    `grant insert on ledger.contracts to ${prefix}_inserting; grant delete on ledger.updates to ${prefix}_deleting`,
  );
});
afterEach(async () => {
  await testDatabase.drop();
  const roles = await query(
    process.env['TEST_POSTGRES_URL'] ?? '',
    `select string_agg(quote_ident(rolname), ', ') as names from pg_roles where rolname like '${prefix}%'`,
  );
  await query(process.env['TEST_POSTGRES_URL'] ?? '', `drop role ${String(roles[0]?.['names'])}`);
});

function nameOf(url: string): string {
  return new URL(url).pathname.slice(1);
}

function urlOf(kind: string, password = 'x'): string {
  const url = new URL(testDatabase.url);
  [url.username, url.password] = [`${prefix}_${kind}`, password];
  return url.href;
}

async function outcomes(url: string): Promise<readonly (string | undefined)[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    const callers: (string | undefined)[] = [];
    for (const sql of statements) callers.push(await attempt(client, sql));
    return callers;
  } finally {
    await client.end();
  }
}

async function grantReader(...flags: readonly string[]): Promise<void> {
  await runCommand(grantReaderCommand, [`${prefix}_reader`, ...flags], { DATABASE_URL: testDatabase.url });
  await query(testDatabase.url, `alter role ${prefix}_reader login password 'x'`);
}

/** URL of the login of a new token, whose role was created while PUBLIC had all default rights. */
async function loginOfToken(...flags: readonly string[]): Promise<string> {
  await runCommand(grantReaderCommand, [`${prefix}_group`, '--shared-database'], { DATABASE_URL: testDatabase.url });
  let token = '';
  const io = { print: (line: string) => void (token = line), stderr: new PassThrough() };
  const argv = ['create', '--role', `${prefix}_group`, ...flags];
  await runCommand(readerTokenCommand, argv, { DATABASE_URL: testDatabase.url }, io);
  const [loginRow] = await query(testDatabase.url, 'select login_name as login from ledger.reader_tokens');
  await query(testDatabase.url, `alter role ${String(loginRow?.['login'])} rename to ${prefix}_token`);
  await query(testDatabase.url, `alter role ${prefix}_token password '${loginPasswordOf(token)}'`);
  return urlOf('token', loginPasswordOf(token));
}

const refusalCodes = statements.map(() => '42501');
const keepLocks = [undefined, undefined, '42501'];
const keepAllStatements = statements.map(() => undefined);

it('grant-reader revokes advisory locks and large objects, except locks of writing roles', async () => {
  await grantReader();
  // The second call finds nothing to revoke.
  await grantReader();
  expect(await outcomes(urlOf('reader'))).toEqual(refusalCodes);
  for (const kind of ['owner', 'inserting', 'deleting']) expect(await outcomes(urlOf(kind)), kind).toEqual(keepLocks);
});

it('reader-token create revokes advisory locks and large objects from the token login', async () => {
  expect(await outcomes(await loginOfToken())).toEqual(refusalCodes);
  for (const kind of ['owner', 'inserting', 'deleting']) expect(await outcomes(urlOf(kind)), kind).toEqual(keepLocks);
});

it('--shared-database revokes no advisory locks or large objects', async () => {
  await grantReader('--shared-database');
  expect(await outcomes(urlOf('reader'))).toEqual(keepAllStatements);
  expect(await outcomes(await loginOfToken('--shared-database'))).toEqual(keepAllStatements);
  const help = runCommand(readerTokenCommand, ['list', '--shared-database'], { DATABASE_URL: testDatabase.url });
  await expect(help).rejects.toMatchObject({ code: 'USAGE' });
});
