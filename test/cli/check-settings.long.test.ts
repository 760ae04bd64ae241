/**
 * Tests how `check` reports Postgres settings. It warns about settings that are expensive with a long history. Each
 * warning has a fix that works, and does not make the check fail.
 */
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { chooseAccount } from '../../packages/embedded-postgres/src/account.ts';
import { findBinaries } from '../../packages/embedded-postgres/src/binaries.ts';
import { openCluster } from '../../packages/embedded-postgres/src/cluster.ts';
import { freePort, startEmbeddedPostgres } from '../../packages/embedded-postgres/src/embedded-postgres.ts';
import { startProgram } from '../../packages/embedded-postgres/src/run-program.ts';
import { createTestDatabase, query } from '../support/database.ts';
import { waitFor } from '../support/wait-for.ts';
import { program } from './program.ts';

interface Line {
  readonly name: string;
  readonly state: string;
  readonly found: string;
  readonly fix?: string;
}

/**
 * Returns a function that finds the output line of a setting. The only failure in the output must be the missing
 * ledger.
 */
async function advice(url: string): Promise<(name: string) => Line | undefined> {
  const { code, stdout, stderr } = await program(['check', '--json', '--timeout', '30'], { DATABASE_URL: url });
  expect({ code, stderr }).toEqual({ code: 1, stderr: '' });
  const { checks } = JSON.parse(stdout) as { checks: readonly Line[] };
  expect(checks.filter(({ state }) => state === 'fail').map(({ name }) => name)).toEqual(['ledger']);
  return (name) => checks.find((line) => line.name === name);
}

/** The statements in a fix. */
function statements(line: Line | undefined): readonly string[] {
  return [...(line?.fix ?? '').matchAll(/`([^`]+)`/g)].map(([, statement = '']) => statement);
}

async function runFix(url: string, line: Line | undefined): Promise<void> {
  const named = statements(line);
  expect(named).not.toEqual([]);
  for (const statement of named) await query(url, statement);
}

describe('session settings check', () => {
  it.each([
    ['wal_compression', 'on', /^pglz, expected lz4 or off|^on, which is pglz, expected lz4 or off/, /^(lz4|off)$/],
    ['random_page_cost', '4', /^4, .* expected 1\.1:/, /^1\.1$/],
  ])('warns about %s = %s, and prints a statement that corrects the setting', async (name, value, found, better) => {
    await using database = await createTestDatabase();
    const named = new URL(database.url).pathname.slice(1);
    await query(database.url, `alter database ${named} set ${name} = ${value}`);
    const before = (await advice(database.url))(name);
    expect(before).toMatchObject({ state: 'warn', found: expect.stringMatching(found) as string });
    await runFix(database.url, before);
    expect((await advice(database.url))(name)).toEqual({
      name,
      state: 'pass',
      found: expect.stringMatching(better) as string,
    });
  });

  it('warns about jit = on if the server supports JIT, and passes otherwise', async () => {
    await using database = await createTestDatabase();
    const named = new URL(database.url).pathname.slice(1);
    await query(database.url, `alter database ${named} set jit = on`);
    const [server] = await query(database.url, 'select pg_jit_available() as compiles');
    const before = (await advice(database.url))('jit');
    if (server?.['compiles'] !== true) {
      expect(before).toMatchObject({ state: 'pass', found: expect.stringContaining('without LLVM') as string });
      return;
    }
    expect(before).toMatchObject({ state: 'warn', found: expect.stringMatching(/^on, expected off/) as string });
    await runFix(database.url, before);
    expect((await advice(database.url))('jit')).toEqual({ name: 'jit', state: 'pass', found: 'off' });
  });
});

/** Values that get a warning (mostly the defaults of Postgres), and the values after the fixes. */
const small = { shared_buffers: '128MB', max_wal_size: '1GB', checkpoint_timeout: '5min' };
const large = { shared_buffers: '1GB', max_wal_size: '8GB', checkpoint_timeout: '15min' };

describe('server settings check', { timeout: 180_000 }, () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'check-settings-'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it('warns about small values, and prints statements that correct the values', async () => {
    const made = await startEmbeddedPostgres({ dataDir: folder });
    await made.stop();
    {
      await using server = await startPlainly(folder, made.url);
      const line = await advice(server.url);
      for (const [name, value] of Object.entries(small)) {
        const found = expect.stringMatching(new RegExp(`^${value}, .*expected`)) as string;
        expect(line(name)).toMatchObject({ state: 'warn', found });
        await runFix(server.url, line(name));
      }
      await waitFor('the server reads its settings again', async () =>
        (await advice(server.url))('max_wal_size')?.state === 'pass' ? true : undefined,
      );
    }
    await using server = await startPlainly(folder, made.url);
    const line = await advice(server.url);
    for (const [name, found] of Object.entries(large)) expect(line(name)).toEqual({ name, state: 'pass', found });
  });

  it('suggests new start arguments if the server was started with small values', async () => {
    await using server = await startEmbeddedPostgres({ dataDir: folder, settings: small });
    const line = await advice(server.url);
    for (const name of Object.keys(small)) {
      expect(line(name)).toMatchObject({ state: 'warn', fix: expect.stringContaining(`-c ${name}=`) as string });
      expect(statements(line(name))).toEqual([]);
    }
  });
});

/** Starts a server whose settings come only from its files. @param url with name and password of its role */
async function startPlainly(dataDir: string, url: string): Promise<AsyncDisposable & { readonly url: string }> {
  const account = chooseAccount();
  const installation = { account, binaries: await findBinaries(account, join(dataDir, 'links')) };
  const cluster = await openCluster(installation, dataDir);
  const at = new URL(url);
  at.port = String(await freePort());
  const settings = [`port=${at.port}`, 'listen_addresses=127.0.0.1', 'unix_socket_directories='];
  const args = ['-D', cluster.name, ...settings.flatMap((setting) => ['-c', setting])];
  const child = startProgram(installation, installation.binaries.postgres, args, cluster.folder);
  for (const output of [child.stdout, child.stderr]) output?.resume();
  await waitFor('the server responds', async () => {
    const rows = await query(at.href, 'select 1').catch(() => []);
    return rows.length === 1 ? true : undefined;
  });
  return {
    url: at.href,
    [Symbol.asyncDispose]: async () => {
      const closed = once(child, 'close');
      child.kill('SIGINT');
      await closed;
    },
  };
}
