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

export interface BouncerOptions {
  /** Passwords of the roles that log in through it; by default every client is the role of the URL, without a password. */
  readonly passwords?: Readonly<Record<string, string>>;
  /** Certificate of the authority that signed the server's certificate; by default connections are not encrypted. */
  readonly authority?: string;
}

/** Starts pgbouncer in front of the server of `url`. */
export async function startBouncer(
  url: string,
  mode: string,
  { passwords, authority }: BouncerOptions = {},
): Promise<AsyncDisposable & { readonly url: string }> {
  const { username, password, hostname, port: upstreamPort, pathname } = new URL(url);
  const folder = await mkdtemp(join(tmpdir(), 'ledger-indexer-pooler-'));
  const port = await freePort();
  const server = `host=${hostname} port=${upstreamPort}`;
  const users = Object.entries(passwords ?? {}).map(([user, secret]) => `"${user}" "${secret}"\n`);
  await writeFile(join(folder, 'users.txt'), users.join(''));
  const login =
    passwords === undefined ? 'auth_type = any' : `auth_type = scram-sha-256\nauth_file = ${join(folder, 'users.txt')}`;
  const encryption =
    authority === undefined ? '' : `server_tls_sslmode = verify-full\nserver_tls_ca_file = ${authority}\n`;
  await writeFile(
    join(folder, 'pgbouncer.ini'),
    `[databases]\n* = ${server}${passwords === undefined ? ` user=${username} password=${password}` : ''}\n` +
      `[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = ${String(port)}\n${login}\n${encryption}` +
      `pool_mode = ${mode}\nunix_socket_dir =\nignore_startup_parameters = extra_float_digits\n`,
  );
  await chmod(folder, 0o755);
  // pgbouncer refuses to run as root.
  const identity = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
  const child: ChildProcess = spawn(program, [join(folder, 'pgbouncer.ini')], { stdio: 'ignore', ...identity });
  const proxyUrl = `postgres://${username}@127.0.0.1:${String(port)}${pathname}`;
  const probeUrl = new URL(proxyUrl);
  const [[user, secret] = []] = Object.entries(passwords ?? {});
  if (user !== undefined && secret !== undefined) [probeUrl.username, probeUrl.password] = [user, secret];
  await waitFor('pgbouncer listens', () =>
    query(probeUrl.href, 'select 1').then(
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
