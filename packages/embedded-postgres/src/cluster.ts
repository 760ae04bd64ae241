/**
 * The files of the embedded server: one folder, closed to other users, with the data (`cluster`), the password and
 * the names of the databases created so far. A folder left incomplete by a killed process is created again.
 */
import { randomBytes } from 'node:crypto';
import { access, chmod, lstat, mkdir, readFile, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { changeOwner, isClosed, isOwnedByCurrentUser, isReachable } from './account.ts';
import type { ProgramPaths } from './run-program.ts';
import { runProgram } from './run-program.ts';
import { failedProgram, unusableData } from './unavailable.ts';

/** The role that owns everything in the embedded server. */
export const ROLE = 'ledger_indexer';
/** Its default database. */
export const DATABASE = 'ledger_indexer';

/** Connection URL. It includes the password, so it must not be logged. */
export function clusterUrl(password: string, port: number, database: string): string {
  return `postgres://${ROLE}:${password}@127.0.0.1:${String(port)}/${database}`;
}

export interface Cluster {
  /** The server's data directory, as a path for this process. */
  readonly folder: string;
  /** The same directory, as a path for its programs when they are started in it. */
  readonly name: string;
  readonly password: string;
}

/**
 * Opens the cluster in `dataDir`, and creates it if there is none.
 * @throws ServerError EMBEDDED_POSTGRES_DATA if another major version created it or its password is missing
 */
export async function openCluster(installation: ProgramPaths, dataDir: string): Promise<Cluster> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const folder = join(dataDir, 'cluster');
  await requireOwn(dataDir, await isPresent(join(folder, 'PG_VERSION')));
  await chmod(dataDir, 0o700);
  if (!(await isPresent(join(folder, 'PG_VERSION')))) await makeCluster(installation, dataDir, folder);
  await changeOwner(installation.account, dataDir);
  await requireVersion(installation.binaries.version, folder);
  return { folder, name: await nameFor(installation, dataDir, folder), password: await readPassword(dataDir) };
}

/** Creates `database` if it does not exist. The server must not be running. */
export async function ensureDatabase(
  installation: ProgramPaths,
  dataDir: string,
  cluster: Cluster,
  database: string,
): Promise<void> {
  if (await hasDatabase(dataDir, database)) return;
  const args = ['--single', '-D', cluster.name, '-c', 'log_min_messages=error', 'postgres'];
  const output = await runProgram(
    installation,
    installation.binaries.postgres,
    args,
    cluster.folder,
    `CREATE DATABASE "${database}"\n`,
  );
  // In this mode, the program exits successfully even if the statement fails.
  if (/ERROR|FATAL/.test(output) && !output.includes('already exists')) throw failedProgram('CREATE DATABASE', output);
  await writeFile(join(dataDir, 'databases'), `${database}\n`, { flag: 'a', mode: 0o600 });
}

/** Whether an earlier start has created `database`. */
export async function hasDatabase(dataDir: string, database: string): Promise<boolean> {
  const list = join(dataDir, 'databases');
  return (await isPresent(list)) && (await readFile(list, 'utf8')).split('\n').includes(database);
}

async function makeCluster(installation: ProgramPaths, dataDir: string, folder: string): Promise<void> {
  await removeUnfinished(dataDir);
  await rm(join(dataDir, 'databases'), { force: true });
  await writeFile(join(dataDir, 'password'), randomBytes(24).toString('hex'), { mode: 0o600 });
  const unfinished = join(dataDir, `unfinished-${process.pid}`);
  await mkdir(unfinished, { mode: 0o700 });
  // Each folder is changed separately, because only the outer folder may already belong to the account.
  await changeOwner(installation.account, unfinished);
  await changeOwner(installation.account, join(dataDir, 'password'));
  await changeOwner(installation.account, dataDir);
  const locale = ['--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'];
  const access = [`--username=${ROLE}`, '--auth=scram-sha-256', '--pwfile=../password'];
  const name = await nameFor(installation, dataDir, unfinished);
  await runProgram(installation, installation.binaries.initdb, ['-D', name, ...locale, ...access], unfinished);
  await rename(unfinished, folder);
}

async function removeUnfinished(dataDir: string): Promise<void> {
  for (const entry of await readdir(dataDir)) {
    const pid = /^unfinished-(\d+)$/.exec(entry)?.[1];
    if (pid !== undefined && (Number(pid) === process.pid || !isAlive(Number(pid)))) {
      await rm(join(dataDir, entry), { recursive: true, force: true });
    }
  }
}

/**
 * `nobody` cannot traverse closed folders, but a process that is started in one can remain there: /proc's link to the
 * working directory resolves without access to the folders above.
 */
async function nameFor(installation: ProgramPaths, dataDir: string, folder: string): Promise<string> {
  if (installation.account !== 'nobody' || (await isReachable(join(dataDir, '..')))) return folder;
  return '/proc/self/cwd';
}

/**
 * Checks that the folder does not belong to another user, is not a symbolic link, and was not open to other users. The
 * owner of the data determines what code the server runs, and the folder is given to the server's account and closed.
 */
async function requireOwn(dataDir: string, hasCluster: boolean): Promise<void> {
  const stats = await lstat(dataDir);
  if (stats.isSymbolicLink()) throw unusableData(`${dataDir} is a link`, 'set INDEXER_DATA_DIR to the target folder');
  if (!isOwnedByCurrentUser(stats))
    throw unusableData(`${dataDir} belongs to another user`, 'set INDEXER_DATA_DIR to a folder that you own');
  if (hasCluster && !isClosed(stats)) {
    throw unusableData(
      `${dataDir} is open to other users, who may have changed what the server runs`,
      `if you trust its contents, run: chmod 700 ${dataDir}; otherwise remove it`,
    );
  }
}

async function requireVersion(server: string, folder: string): Promise<void> {
  const clusterVersion = (await readFile(join(folder, 'PG_VERSION'), 'utf8')).trim();
  if (clusterVersion === server.split('.')[0]) return;
  throw unusableData(
    `${folder} was made by Postgres ${clusterVersion}, but this is ${server}`,
    'move that folder away and seed again, or use the release that created it',
  );
}

async function readPassword(dataDir: string): Promise<string> {
  const file = join(dataDir, 'password');
  if (await isPresent(file)) return (await readFile(file, 'utf8')).trim();
  throw unusableData(`${file} is missing`, 'restore it, or move the folder away and seed again');
}

async function isPresent(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

/** Whether there is a process with this id, of any user. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
