/** A Postgres server of a package in a folder of its own, so that a test may stop it, copy its files and restore it. */
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { changeOwner, chooseAccount } from '../../../packages/embedded-postgres/src/account.ts';
import { freePort } from '../../../packages/embedded-postgres/src/embedded-postgres.ts';
import { runProgram, startProgram, type ProgramPaths } from '../../../packages/embedded-postgres/src/run-program.ts';
import { query } from '../database.ts';
import { waitFor } from '../wait-for.ts';
import { programFolder } from './programs.ts';

export const superuser = 'postgres';
export const superuserPassword = 'of the superuser';

export interface PackagedServer extends AsyncDisposable {
  readonly port: number;
  /** URL of a database, by default as the superuser. */
  url(database: string, role?: string, password?: string): string;
  /** Ends the server as a failure of its machine would, and waits for its end. */
  crash(): Promise<void>;
}

function installed(): ProgramPaths {
  const [initdb, postgres] = [join(programFolder, 'initdb'), join(programFolder, 'postgres')];
  return { account: chooseAccount(), binaries: { initdb, postgres, version: '', environment: {} } };
}

/** Creates the files of an empty server. All users must be able to enter the folder above. */
export async function createServerFiles(folder: string): Promise<void> {
  const installation = installed();
  const passwordFile = `${folder}.password`;
  await writeFile(passwordFile, superuserPassword);
  await mkdir(folder, { mode: 0o700 });
  for (const path of [passwordFile, folder]) await changeOwner(installation.account, path);
  const access = [`--username=${superuser}`, '--auth=scram-sha-256', `--pwfile=${passwordFile}`];
  const args = ['-D', folder, '--encoding=UTF8', '--locale=C', '--no-sync', ...access];
  await runProgram(installation, installation.binaries.initdb, args, dirname(folder));
}

/** Starts the server, and waits until it accepts writes: with a recovery target, until the recovery is complete. */
export async function startServer(
  folder: string,
  settings: Readonly<Record<string, string>> = {},
): Promise<PackagedServer> {
  const installation = installed();
  await changeOwner(installation.account, folder);
  const port = await freePort();
  const allSettings = {
    port: String(port),
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    max_connections: '120',
    jit: 'off',
    timezone: 'UTC',
    ...settings,
  };
  const args = Object.entries(allSettings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const child = startProgram(installation, installation.binaries.postgres, ['-D', folder, ...args], folder);
  let log = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk: Buffer) => {
      log += chunk.toString();
    });
  }
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    child.kill(signal);
    await waitFor('the server ends', () => ((child.exitCode ?? child.signalCode) === null ? undefined : true));
  };
  const url: PackagedServer['url'] = (database, role = superuser, password = superuserPassword) => {
    const built = new URL(`postgres://127.0.0.1:${String(port)}/${database}`);
    [built.username, built.password] = [role, password];
    return built.href;
  };
  const acceptsWrites = async (): Promise<true | undefined> => {
    if (child.exitCode !== null) throw new Error(`the server ended: ${log.slice(-2_000)}`);
    const rows = await query(url('postgres'), 'select pg_is_in_recovery() as recovering').catch(() => []);
    return rows[0]?.['recovering'] === false ? true : undefined;
  };
  await waitFor('the server accepts writes', acceptsWrites, 60_000);
  return { port, url, crash: () => end('SIGQUIT'), [Symbol.asyncDispose]: () => end('SIGINT') };
}
