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
  const lineStatements = statements(line);
  expect(lineStatements).not.toEqual([]);
  for (const statement of lineStatements) await query(url, statement);
}

describe('session settings check', () => {
  it.each([
    ['wal_compression', 'on', /^pglz, expected lz4 or off|^on, which is pglz, expected lz4 or off/, /^(lz4|off)$/],
    ['random_page_cost', '4', /^4, .* expected 1\.1:/, /^1\.1$/],
  ])(
    'warns about %s = %s, and prints a statement that corrects the setting',
    async (name, value, foundText, correctValue) => {
      await using database = await createTestDatabase();
      const databaseName = new URL(database.url).pathname.slice(1);
      await query(database.url, `alter database ${databaseName} set ${name} = ${value}`);
      const adviceBefore = (await advice(database.url))(name);
      expect(adviceBefore).toMatchObject({ state: 'warn', found: expect.stringMatching(foundText) as string });
      await runFix(database.url, adviceBefore);
      expect((await advice(database.url))(name)).toEqual({
        name,
        state: 'pass',
        found: expect.stringMatching(correctValue) as string,
      });
    },
  );

  it('warns about jit = on if the server supports JIT, and passes otherwise', async () => {
    await using database = await createTestDatabase();
    const databaseName = new URL(database.url).pathname.slice(1);
    await query(database.url, `alter database ${databaseName} set jit = on`);
    const [server] = await query(database.url, 'select pg_jit_available() as compiles');
    const adviceBefore = (await advice(database.url))('jit');
    if (server?.['compiles'] !== true) {
      expect(adviceBefore).toMatchObject({ state: 'pass', found: expect.stringContaining('without LLVM') as string });
      return;
    }
    expect(adviceBefore).toMatchObject({ state: 'warn', found: expect.stringMatching(/^on, expected off/) as string });
    await runFix(database.url, adviceBefore);
    expect((await advice(database.url))('jit')).toEqual({ name: 'jit', state: 'pass', found: 'off' });
  });
});

/** Values that get a warning (mostly the defaults of Postgres), and the values after the fixes. */
const smallSettings = { shared_buffers: '128MB', max_wal_size: '1GB', checkpoint_timeout: '5min' };
const largeSettings = { shared_buffers: '1GB', max_wal_size: '8GB', checkpoint_timeout: '15min' };

describe('server settings check', { timeout: 180_000 }, () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'check-settings-'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it('warns about small values, and prints statements that correct the values', async () => {
    const embeddedServer = await startEmbeddedPostgres({ dataDir: folder });
    await embeddedServer.stop();
    {
      await using server = await startUnconfigured(folder, embeddedServer.url);
      const line = await advice(server.url);
      for (const [name, value] of Object.entries(smallSettings)) {
        const foundPattern = expect.stringMatching(new RegExp(`^${value}, .*expected`)) as string;
        expect(line(name)).toMatchObject({ state: 'warn', found: foundPattern });
        await runFix(server.url, line(name));
      }
      await waitFor('the server reads its settings again', async () =>
        (await advice(server.url))('max_wal_size')?.state === 'pass' ? true : undefined,
      );
    }
    await using server = await startUnconfigured(folder, embeddedServer.url);
    const line = await advice(server.url);
    for (const [name, foundText] of Object.entries(largeSettings))
      expect(line(name)).toEqual({ name, state: 'pass', found: foundText });
  });

  it('suggests new start arguments if the server was started with small values', async () => {
    await using server = await startEmbeddedPostgres({ dataDir: folder, settings: smallSettings });
    const line = await advice(server.url);
    for (const name of Object.keys(smallSettings)) {
      expect(line(name)).toMatchObject({ state: 'warn', fix: expect.stringContaining(`-c ${name}=`) as string });
      expect(statements(line(name))).toEqual([]);
    }
  });
});

/** Starts a server whose settings come only from its files. @param url with name and password of its role */
async function startUnconfigured(dataDir: string, url: string): Promise<AsyncDisposable & { readonly url: string }> {
  const account = chooseAccount();
  const installation = { account, binaries: await findBinaries(account, join(dataDir, 'links')) };
  const cluster = await openCluster(installation, dataDir);
  const portUrl = new URL(url);
  portUrl.port = String(await freePort());
  const settings = [`port=${portUrl.port}`, 'listen_addresses=127.0.0.1', 'unix_socket_directories='];
  const args = ['-D', cluster.name, ...settings.flatMap((setting) => ['-c', setting])];
  const child = startProgram(installation, installation.binaries.postgres, args, cluster.folder);
  for (const output of [child.stdout, child.stderr]) output?.resume();
  await waitFor('the server responds', async () => {
    const rows = await query(portUrl.href, 'select 1').catch(() => []);
    return rows.length === 1 ? true : undefined;
  });
  return {
    url: portUrl.href,
    [Symbol.asyncDispose]: async () => {
      const whenClosed = once(child, 'close');
      child.kill('SIGINT');
      await whenClosed;
    },
  };
}
