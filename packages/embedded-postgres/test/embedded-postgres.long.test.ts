/**
 * The embedded server keeps its data, and other users have no access. A start uses the server of a killed process, and
 * stops it at the end.
 */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, unlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { platformPackage } from '../src/binaries.ts';
import { startEmbeddedPostgres } from '../src/embedded-postgres.ts';
import { sharedBuffers } from '../src/page-cache.ts';
import { runningServerUrl } from '../src/running-server.ts';
import { maxWalSize, walFreeBytes } from '../src/wal-size.ts';
import { query } from '../../../test/support/database.ts';
import { pause, waitFor } from '../../../test/support/wait-for.ts';
import { needs, rootSkipReason } from '../../../test/support/skips/needs.ts';

/** The other process runs the built program, because Node does not run TypeScript. */
const MODULE = new URL('../dist/embedded-postgres.js', import.meta.url).href;
const MIB = 2 ** 20;
const run = promisify(execFile);
const require = createRequire(import.meta.url);

interface Child {
  readonly pid: number;
  readonly port: number;
  kill(): Promise<void>;
}

/** Starts the server from another Node process, which runs until it is killed. */
async function startInChild(dataDir: string, module = MODULE): Promise<Child> {
  const script = `const { startEmbeddedPostgres } = await import(${JSON.stringify(module)});
    const { pid, port } = await startEmbeddedPostgres({ dataDir: ${JSON.stringify(dataDir)} });
    console.log(JSON.stringify({ pid, port }));
    setInterval(() => {}, 1000);`;
  const node = spawn(process.execPath, ['--input-type=module', '-e', script], {
    cwd: fileURLToPath(new URL('../../..', import.meta.url)),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await Promise.race([
    once(createInterface({ input: node.stdout }), 'line'),
    once(node, 'exit').then(() => {
      throw new Error('the other process ended early');
    }),
  ])) as [string];
  const kill = async (): Promise<void> => {
    const whenExited = once(node, 'exit');
    node.kill('SIGKILL');
    await whenExited;
  };
  return { ...(JSON.parse(line) as { pid: number; port: number }), kill };
}

function runs(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

describe('the embedded Postgres', () => {
  let folder: string;
  let dataDir: string;
  /** The data folder of a server that was started once and stopped. */
  let usedFolder: string;
  beforeAll(async () => {
    usedFolder = await mkdtemp(join(tmpdir(), 'embedded-used-'));
    await (await startEmbeddedPostgres({ dataDir: usedFolder })).stop();
  });
  afterAll(() => rm(usedFolder, { recursive: true, force: true }));
  /**
   * Copies that folder to `dataDir`. This takes a tenth of the CPU time of creating a cluster. A copy with Node would
   * take as long as creating one.
   */
  const startedBefore = async (): Promise<void> => void (await run('cp', ['-Rp', usedFolder, dataDir]));
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'embedded-'));
    // Other users cannot enter this folder, as they cannot enter a home folder.
    dataDir = join(folder, 'closed', 'postgres');
    await mkdir(dirname(dataDir), { mode: 0o700 });
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it('keeps its data between runs, sorts by bytes and leaves no process behind', async () => {
    const first = await startEmbeddedPostgres({ dataDir, database: 'kept' });
    await query(first.url, 'CREATE TABLE t AS SELECT 1 AS a');
    await first.stop();
    await first.stop();
    // Node receives the end of its child process shortly after the files are free.
    await waitFor('the end of the server', () => (runs(first.pid) ? undefined : true));

    await using second = await startEmbeddedPostgres({ dataDir, database: 'kept' });
    expect(second.reused).toBe(false);
    expect(await query(second.url, 'SELECT a FROM t')).toEqual([{ a: 1 }]);
    expect(await query(second.url, `SELECT 'Z' < 'a' AS bytes, upper('ä') AS upper`)).toEqual([
      { bytes: true, upper: 'Ä' },
    ]);
    expect(await query(second.url, 'SHOW server_version')).toEqual([{ server_version: second.version }]);
  });

  it('keeps running after the time limit of its start', async () => {
    const startLimitMs = 4_000;
    await startedBefore();
    await using server = await startEmbeddedPostgres({ dataDir, startLimitMs });
    await pause(startLimitMs + 500);
    expect(await query(server.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });

  it('rejects connections without the password, and only its user can read the password', async () => {
    await using server = await startEmbeddedPostgres({ dataDir });
    const url = new URL(server.url);
    url.password = 'guessed';
    await expect(query(url.href, 'SELECT 1')).rejects.toThrow(/password authentication failed/);
    expect((await stat(join(dataDir, 'password'))).mode & 0o777).toBe(0o600);
    expect((await stat(dataDir)).mode & 0o777).toBe(0o700);
  });

  it('refuses a symbolic link in place of its folder and does not change the target', async () => {
    const target = join(folder, 'target');
    await mkdir(target, { mode: 0o755 });
    await symlink(target, dataDir);
    await expect(startEmbeddedPostgres({ dataDir })).rejects.toMatchObject({
      code: 'EMBEDDED_POSTGRES_DATA',
      message: expect.stringContaining('is a link') as string,
    });
    expect((await stat(target)).mode & 0o777).toBe(0o755);
    expect(await readdir(target)).toEqual([]);
  });

  it('refuses data that other users could have changed, and names the command to trust it', async () => {
    await startedBefore();
    await chmod(dataDir, 0o755);
    await expect(startEmbeddedPostgres({ dataDir })).rejects.toMatchObject({
      code: 'EMBEDDED_POSTGRES_DATA',
      remedy: expect.stringContaining(`chmod 700 ${dataDir}`) as string,
    });
    await chmod(dataDir, 0o700);
    await using server = await startEmbeddedPostgres({ dataDir });
    expect(await runningServerUrl(dataDir)).toBe(server.url);
    await chmod(dataDir, 0o755);
    expect(await runningServerUrl(dataDir)).toBeUndefined();
  });

  it('derives the sizes of page cache and log from memory and disk space unless the settings contain them', async () => {
    const names = ['shared_buffers', 'max_wal_size', 'checkpoint_timeout', 'random_page_cost', 'wal_compression'];
    const readSettings = async (url: string): Promise<unknown> =>
      (await query(url, `select ${names.map((name) => `current_setting('${name}') as ${name}`).join(', ')}`))[0];
    const settingBytes = (name: string): string => `pg_size_bytes(current_setting('${name}'))::float8 as ${name}`;
    await startedBefore();
    const server = await startEmbeddedPostgres({ dataDir });
    expect(await readSettings(server.url)).toMatchObject({
      checkpoint_timeout: '15min',
      random_page_cost: '1.1',
      wal_compression: 'off',
    });
    const [sizes] = await query(
      server.url,
      `select ${settingBytes('shared_buffers')}, ${settingBytes('max_wal_size')}`,
    );
    await server.stop();
    const freeWalSize = maxWalSize(await walFreeBytes(join(dataDir, 'cluster')));
    expect(sizes?.['shared_buffers']).toBe(Number.parseInt(sharedBuffers(), 10) * MIB);
    // Free space changes while other tests run.
    expect(Number(sizes?.['max_wal_size']) / (Number.parseInt(freeWalSize, 10) * MIB)).toBeCloseTo(1, 1);

    const settings = {
      shared_buffers: '64MB',
      max_wal_size: '96MB',
      checkpoint_timeout: '5min',
      random_page_cost: '2',
    };
    await using configuredServer = await startEmbeddedPostgres({ dataDir, settings });
    expect(await readSettings(configuredServer.url)).toMatchObject(settings);
  });

  it('waits while a killed server recovers from its log', { timeout: 240_000 }, async () => {
    // With these settings, the server quickly writes a large log, and writes no table pages before it is killed.
    const fastSettings = { fsync: 'off', full_page_writes: 'off', checkpoint_timeout: '1h' };
    await startedBefore();
    const first = await startEmbeddedPostgres({ dataDir, settings: fastSettings });
    await query(first.url, 'CREATE TABLE t (a text); CREATE INDEX ON t (a); CHECKPOINT');
    await query(first.url, 'INSERT INTO t SELECT md5(i::text) FROM generate_series(1, 450000) i');
    process.kill(first.pid, 'SIGKILL');
    await waitFor('the end of the server', () => (runs(first.pid) ? undefined : true));

    // With few pages in memory, recovery is slow.
    const settings = { fsync: 'off', shared_buffers: '1MB', log_startup_progress_interval: '100ms' };
    const startLimitMs = 1_500;
    const startMs = performance.now();
    await using second = await startEmbeddedPostgres({ dataDir, settings, startLimitMs });
    expect(performance.now() - startMs).toBeGreaterThan(startLimitMs);
    expect(await query(second.url, 'SELECT count(*)::int AS rows FROM t')).toEqual([{ rows: 450_000 }]);
  });

  it('keeps row contents out of its log', async () => {
    await startedBefore();
    const lines: string[] = [];
    await using server = await startEmbeddedPostgres({ dataDir, log: (line) => lines.push(line) });
    await query(server.url, 'CREATE TABLE t (a text PRIMARY KEY)');
    await expect(query(server.url, `INSERT INTO t VALUES ('payload'), ('payload')`)).rejects.toThrow(/duplicate key/);
    await waitFor('the error in the log', () => lines.find((line) => line.includes('duplicate key')));
    await server.stop();
    expect(lines.join('\n')).not.toContain('payload');
  });

  it('uses the server of a process that was killed, and stops it at the end', async () => {
    await startedBefore();
    const child = await startInChild(dataDir);
    await child.kill();
    const server = await startEmbeddedPostgres({ dataDir });
    expect(server).toMatchObject({ pid: child.pid, port: child.port, reused: true });
    expect(await query(server.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    await server.stop();
    await waitFor('the end of the server', () => (runs(child.pid) ? undefined : true));
  });

  it('uses the server of a running process, and does not stop it at the end', async () => {
    await startedBefore();
    const child = await startInChild(dataDir);
    const sharedServer = await startEmbeddedPostgres({ dataDir });
    expect(sharedServer.reused).toBe(true);
    await sharedServer.stop();
    expect(await query(sharedServer.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    await child.kill();
    // The process that started the server has ended, so this process stops the server.
    await (await startEmbeddedPostgres({ dataDir })).stop();
  });

  it('starts again after the server itself was killed', async () => {
    await startedBefore();
    const first = await startEmbeddedPostgres({ dataDir });
    await query(first.url, 'CREATE TABLE t AS SELECT 1 AS a');
    process.kill(first.pid, 'SIGKILL');
    await waitFor('the end of the server', () => (runs(first.pid) ? undefined : true));
    await using second = await startEmbeddedPostgres({ dataDir });
    expect(second.reused).toBe(false);
    expect(await query(second.url, 'SELECT a FROM t')).toEqual([{ a: 1 }]);
  });

  it('ignores a lock file that contains the process id of another program', async () => {
    await startedBefore();
    const lock = join(dataDir, 'cluster', 'postmaster.pid');
    await writeFile(lock, `${process.ppid}\n${join(dataDir, 'cluster')}\n0\n5432\n`);
    await using server = await startEmbeddedPostgres({ dataDir });
    expect(server.reused).toBe(false);
    expect(Number((await readFile(lock, 'utf8')).split('\n')[0])).toBe(server.pid);
  });

  it('creates the symbolic links of libraries that the installer omitted', async () => {
    const name = platformPackage(process.platform, process.arch) ?? '';
    const installed = dirname(dirname(require.resolve(name)));
    const packaged = join(folder, 'closed', 'node_modules', name);
    await mkdir(dirname(packaged), { recursive: true });
    await run('cp', ['-Rp', installed, packaged]);
    const links = JSON.parse(await readFile(join(packaged, 'native/pg-symlinks.json'), 'utf8')) as { target: string }[];
    for (const { target } of links) await unlink(join(packaged, target));
    await cp(fileURLToPath(new URL('../dist', import.meta.url)), join(folder, 'closed', 'dist'), {
      recursive: true,
    });
    await writeFile(join(folder, 'closed', 'package.json'), '{ "type": "module" }');

    const child = await startInChild(dataDir, join(folder, 'closed/dist/embedded-postgres.js'));
    await child.kill();
    const server = await startEmbeddedPostgres({ dataDir });
    expect(server.reused).toBe(true);
    await server.stop();
    for (const { target } of links) await stat(join(packaged, target));
  });

  it('refuses a folder of another major version, with a remedy', async () => {
    await startedBefore();
    await writeFile(join(dataDir, 'cluster', 'PG_VERSION'), '12\n');
    await expect(startEmbeddedPostgres({ dataDir })).rejects.toMatchObject({
      code: 'EMBEDDED_POSTGRES_DATA',
      message: expect.stringContaining('was made by Postgres 12') as string,
      remedy: expect.stringContaining('set DATABASE_URL') as string,
    });
  });

  it('runs as `nobody` if root has no user namespaces', needs(rootSkipReason), async () => {
    await using server = await startEmbeddedPostgres({ dataDir, account: 'nobody' });
    expect(await query(server.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });
});
