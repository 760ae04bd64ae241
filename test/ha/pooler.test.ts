/** pgbouncer between us and Postgres: refused where it lends one session to many, accepted where it does not. */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openDatabase } from '../../src/store/database.ts';
import { WriterSeat } from '../../src/store/writer-lock.ts';
import { createTestDatabase, query } from '../support/database.ts';
import { waitFor } from '../support/wait-for.ts';

/** PGBOUNCER names the program where it is not on the path. */
const program = process.env['PGBOUNCER'] ?? 'pgbouncer';
const installed = spawnSync(program, ['--version']).status === 0;
if (!installed) process.stdout.write('pooler.test.ts skipped: no pgbouncer here (apt-get install pgbouncer)\n');

async function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}

/** pgbouncer before the server of `url`, asking for no password of its own. */
async function startBouncer(url: string, mode: string): Promise<AsyncDisposable & { readonly url: string }> {
  const { username, password, hostname, port: far, pathname } = new URL(url);
  const folder = await mkdtemp(join(tmpdir(), 'ledger-indexer-pooler-'));
  const port = await freePort();
  const server = `host=${hostname} port=${far} user=${username} password=${password}`;
  await writeFile(
    join(folder, 'pgbouncer.ini'),
    `[databases]\n* = ${server}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = ${String(port)}\nauth_type = any\n` +
      `pool_mode = ${mode}\nunix_socket_dir =\nignore_startup_parameters = extra_float_digits\n`,
  );
  await chmod(folder, 0o755);
  // pgbouncer refuses to run as root.
  const identity = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
  const child: ChildProcess = spawn(program, [join(folder, 'pgbouncer.ini')], { stdio: 'ignore', ...identity });
  const through = `postgres://${username}@127.0.0.1:${String(port)}${pathname}`;
  await waitFor('pgbouncer listens', () =>
    query(through, 'select 1').then(
      () => true,
      () => undefined,
    ),
  );
  return {
    url: through,
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGKILL');
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function lockThrough(mode: string, idle = 0): Promise<unknown> {
  await using created = await createTestDatabase();
  await using bouncer = await startBouncer(created.url, mode);
  // Server sessions that lie idle in the pooler already.
  const busy = Array.from({ length: idle }, () => query(bouncer.url, 'select pg_sleep(0.2)'));
  await Promise.all(busy);
  const options = { url: bouncer.url, schema: 'ledger', statementTimeoutMs: 5_000, applicationName: 'test' };
  const database = openDatabase(options);
  const seat = new WriterSeat(database, 2_000);
  try {
    return await seat.tryLock();
  } catch (thrown) {
    return thrown;
  } finally {
    await seat.close();
    await database.close();
  }
}

describe.skipIf(!installed)('behind pgbouncer', () => {
  it.each(['transaction', 'statement'])('the lock is refused in %s mode, and it is said what to do', async (mode) => {
    for (const idle of [0, 4]) {
      expect(await lockThrough(mode, idle)).toMatchObject({
        code: 'STORE_POOLER',
        retry: 'park',
        remedy: expect.stringContaining('pool_mode = session') as string,
      });
    }
  });

  it('the lock is held in session mode', async () => {
    expect(await lockThrough('session')).toHaveProperty('release');
  });
});
