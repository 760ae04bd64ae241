/** Starts pgbouncer in front of a Postgres server, for tests. */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { query } from './database.ts';
import { waitFor } from './wait-for.ts';

/** PGBOUNCER is the path of the program if it is not on PATH. */
const program = process.env['PGBOUNCER'] ?? 'pgbouncer';
export const bouncerSkipReason =
  spawnSync(program, ['--version']).status === 0
    ? undefined
    : 'needs pgbouncer (apt-get install pgbouncer; PGBOUNCER names it)';

async function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}

/** Starts pgbouncer in front of the server of `url`, without a password for its clients. */
export async function startBouncer(url: string, mode: string): Promise<AsyncDisposable & { readonly url: string }> {
  const { username, password, hostname, port: upstreamPort, pathname } = new URL(url);
  const folder = await mkdtemp(join(tmpdir(), 'ledger-indexer-pooler-'));
  const port = await freePort();
  const server = `host=${hostname} port=${upstreamPort} user=${username} password=${password}`;
  await writeFile(
    join(folder, 'pgbouncer.ini'),
    `[databases]\n* = ${server}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = ${String(port)}\nauth_type = any\n` +
      `pool_mode = ${mode}\nunix_socket_dir =\nignore_startup_parameters = extra_float_digits\n`,
  );
  await chmod(folder, 0o755);
  // pgbouncer refuses to run as root.
  const identity = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
  const child: ChildProcess = spawn(program, [join(folder, 'pgbouncer.ini')], { stdio: 'ignore', ...identity });
  const proxyUrl = `postgres://${username}@127.0.0.1:${String(port)}${pathname}`;
  await waitFor('pgbouncer listens', () =>
    query(proxyUrl, 'select 1').then(
      () => true,
      () => undefined,
    ),
  );
  return {
    url: proxyUrl,
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGKILL');
      await rm(folder, { recursive: true, force: true });
    },
  };
}
