/**
 * Server resources that the login of a reader may use. Only this file uses the server, because it takes all
 * connections.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { Client } from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import {
  startEmbeddedPostgres,
  type EmbeddedPostgres,
} from '../../../packages/embedded-postgres/src/embedded-postgres.ts';
import { runChecks } from '../../../src/cli/check/outcome.ts';
import { readerChecks } from '../../../src/cli/check/reader-checks.ts';
import { migrateCommand } from '../../../src/cli/follow/migrate.ts';
import { grantReaderCommand } from '../../../src/cli/roles/grant-reader.ts';
import { grantRolesCommand } from '../../../src/cli/roles/grant-roles.ts';
import { readerTokenCommand } from '../../../src/cli/roles/reader-token.ts';
import { loginPasswordOf } from '../../../src/reader-token.ts';
import { openDatabase } from '../../../src/store/connection/database.ts';
import { query } from '../../support/database.ts';
import { runCommand } from '../../support/run-command.ts';

const tooManyConnections = '53300';
const limitExceeded = '53400';
const insufficientPrivilege = '42501';

let folder: string;
let server: EmbeddedPostgres;
const openClients: Client[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'reader-limits-'));
  // The server accepts 40 connections. Three are for superusers and 25 are reserved, so other roles can open twelve.
  const settings = { max_connections: '40', shared_buffers: '32MB', max_wal_size: '128MB' };
  server = await startEmbeddedPostgres({ dataDir: join(folder, 'postgres'), settings });
  for (const kind of ['migrator', 'writer', 'redactor', 'reader', 'mine']) await writeFile(join(folder, kind), 'x\n');
  await runCommand(migrateCommand, [], { DATABASE_URL: server.url });
  await grantRoles();
});
afterEach(async () => {
  for (const client of openClients.splice(0)) await client.end();
});
afterAll(async () => {
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});

function grantRoles(...flags: readonly string[]) {
  return runCommand(grantRolesCommand, ['--password-dir', folder, ...flags], { DATABASE_URL: server.url });
}

function grantReader(role: string, ...flags: readonly string[]) {
  const argv = [role, '--password-file', join(folder, 'mine'), ...flags];
  return runCommand(grantReaderCommand, argv, { DATABASE_URL: server.url });
}

async function connect(role: string, password = 'x'): Promise<Client> {
  const url = new URL(server.url);
  [url.username, url.password] = [role, password];
  const client = new Client({ connectionString: url.href });
  client.on('error', () => undefined);
  await client.connect();
  openClients.push(client);
  return client;
}

/** Opens connections until the server rejects one. Resolves to the number of open connections. */
async function connectAll(role: string): Promise<number> {
  for (let count = 0; ; count += 1) {
    try {
      await connect(role);
    } catch (error) {
      expect(error).toMatchObject({ code: tooManyConnections });
      return count;
    }
  }
}

async function limitOf(role: string): Promise<unknown> {
  const [limitRow] = await query(server.url, `select rolconnlimit as most from pg_roles where rolname = '${role}'`);
  return limitRow?.['most'];
}

async function checked(name: string): Promise<{ readonly state: string; readonly found: string } | undefined> {
  const schema = 'ledger';
  const options = { schema, statementTimeoutMs: 60_000, applicationName: 'test limits', maxConnections: 2 };
  const database = openDatabase({ url: server.url, ...options });
  try {
    return (await runChecks(readerChecks(database), 30_000)).find((outcome) => outcome.name === name);
  } finally {
    await database.close();
  }
}

describe('reader connection limit', () => {
  it('is set for a new reader, and kept for an existing reader unless a flag changes it', async () => {
    await grantReader('few', '--connections', '2');
    expect(await connectAll('few')).toBe(2);
    await grantReader('few');
    expect(await limitOf('few')).toBe(2);
    await grantReader('few', '--connections', '3');
    expect(await limitOf('few')).toBe(3);
    await grantReader('usual');
    expect(await limitOf('usual')).toBe(20);
    expect(await limitOf('ledger_reader')).toBe(20);
    await grantRoles('--connections', '5');
    expect(await limitOf('ledger_reader')).toBe(5);
    await query(server.url, 'alter role ledger_reader connection limit -1');
    await grantRoles();
    expect(await limitOf('ledger_reader')).toBe(-1);
    await expect(grantReader('few', '--connections', '0')).rejects.toMatchObject({ code: 'USAGE' });
  });

  it('leaves connections for the writer and the migrator', async () => {
    await grantReader('greedy', '--connections', '99');
    expect(await connectAll('greedy')).toBeGreaterThan(0);
    await connect('ledger_writer');
    await connect('ledger_migrator');
    await expect(connect('ledger_redactor')).rejects.toMatchObject({ code: tooManyConnections });
  });

  it('is reported by check if it is missing or covers all connections of the server', async () => {
    await query(server.url, 'alter role ledger_reader connection limit -1');
    expect(await checked('reader connections')).toMatchObject({
      state: 'warn',
      found: expect.stringMatching(/^ledger_reader may take all connections/) as unknown,
    });
    await query(server.url, 'alter role ledger_reader connection limit 20');
    await grantReader('greedy', '--connections', '99');
    expect(await checked('reader connections')).toMatchObject({ state: 'pass' });
    await query(server.url, 'revoke pg_use_reserved_connections from ledger_writer');
    expect(await checked('reader connections')).toMatchObject({
      state: 'warn',
      found: expect.stringContaining('the readers together can take all of them') as unknown,
    });
    await grantRoles();
    expect(await checked('reader connections')).toMatchObject({ state: 'pass' });
  });
});

describe('grant-roles', () => {
  it.each([
    ['writer', 'pg_monitor', ''],
    ['redactor', 'pg_use_reserved_connections', ''],
    ['reader', 'pg_use_reserved_connections', ''],
    ['writer', 'pg_use_reserved_connections', 'with admin option'],
  ])('rejects a %s that is a member of %s %s', async (kind, group, option) => {
    await query(server.url, `grant ${group} to ledger_${kind} ${option}`);
    try {
      await expect(grantRoles()).rejects.toMatchObject({
        code: 'GRANT_ROLES_REFUSED',
        message: expect.stringContaining(`ledger_${kind}`) as unknown,
      });
    } finally {
      await query(server.url, `revoke ${group} from ledger_${kind}`);
    }
    await grantRoles();
  });
});

describe('temporary file limit', () => {
  /** Sorting 200,000 numbers needs more than `work_mem`, so Postgres writes temporary files. */
  const sortSql = `set work_mem = '64kB';
    select count(*) from (select i from generate_series(1, 200000) i order by random() offset 0) s`;

  it('applies to readers and token logins, which cannot change it', async () => {
    await grantReader('sorting');
    await runCommand(grantReaderCommand, ['group_of_tokens'], { DATABASE_URL: server.url });
    let token = '';
    const io = { print: (line: string) => void (token = line), stderr: new PassThrough() };
    await runCommand(readerTokenCommand, ['create', '--role', 'group_of_tokens'], { DATABASE_URL: server.url }, io);
    const [loginRow] = await query(server.url, 'select login_name as login from ledger.reader_tokens');
    const logins = [
      await connect('sorting'),
      await connect('ledger_reader'),
      await connect(String(loginRow?.['login']), loginPasswordOf(token)),
    ];
    for (const client of logins) {
      expect((await client.query('show temp_file_limit')).rows).toEqual([{ temp_file_limit: '256MB' }]);
      await expect(client.query('set temp_file_limit = -1')).rejects.toMatchObject({ code: insufficientPrivilege });
    }
    expect(await checked('temporary files')).toMatchObject({ state: 'pass' });
  });

  it('is kept if an administrator set it, and check reports a login without it', async () => {
    await grantReader('sorting');
    await query(server.url, `alter role sorting set temp_file_limit = '1MB'`);
    await grantReader('sorting');
    await expect((await connect('sorting')).query(sortSql)).rejects.toMatchObject({ code: limitExceeded });
    await query(server.url, 'alter role sorting reset temp_file_limit');
    expect(await checked('temporary files')).toMatchObject({
      state: 'warn',
      found: expect.stringMatching(/^sorting may fill the disk/) as unknown,
    });
    await query(server.url, 'alter role sorting set temp_file_limit = -1');
    await grantReader('sorting');
    expect(await checked('temporary files')).toMatchObject({ state: 'warn' });
  });
});
