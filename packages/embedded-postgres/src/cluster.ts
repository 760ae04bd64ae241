/**
 * The files of the embedded server: one folder, closed to other users, with the data (`cluster`), the password and
 * the names of the databases made so far. A folder that was half made when the process died is made again.
 */
import { randomBytes } from 'node:crypto';
import { access, chmod, lstat, mkdir, readFile, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { giveTo, isClosed, isOurs, isReachable } from './account.ts';
import type { Place } from './run-program.ts';
import { runProgram } from './run-program.ts';
import { failedProgram, unusableData } from './unavailable.ts';

/** The role that owns everything in the embedded server. */
export const ROLE = 'ledger_indexer';
/** Its database, unless another one is named. */
export const DATABASE = 'ledger_indexer';

/** Connection URL with the password in it: not for logs. */
export function clusterUrl(password: string, port: number, database: string): string {
  return `postgres://${ROLE}:${password}@127.0.0.1:${String(port)}/${database}`;
}

export interface Cluster {
  /** The server's data directory as we see it. */
  readonly folder: string;
  /** The same as its programs must be told it when started inside it. */
  readonly name: string;
  readonly password: string;
}

/**
 * The cluster in `dataDir`, made if there is none.
 * @throws ServerError EMBEDDED_POSTGRES_DATA when it was made by another major version or lacks its password
 */
export async function openCluster(place: Place, dataDir: string): Promise<Cluster> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const folder = join(dataDir, 'cluster');
  await requireOwn(dataDir, await isPresent(join(folder, 'PG_VERSION')));
  await chmod(dataDir, 0o700);
  if (!(await isPresent(join(folder, 'PG_VERSION')))) await makeCluster(place, dataDir, folder);
  await giveTo(place.account, dataDir);
  await requireVersion(place.binaries.version, folder);
  return { folder, name: await nameFor(place, dataDir, folder), password: await readPassword(dataDir) };
}

/** Makes `database` unless it is there. The server must not be running. */
export async function ensureDatabase(place: Place, dataDir: string, cluster: Cluster, database: string): Promise<void> {
  if (await hasDatabase(dataDir, database)) return;
  const args = ['--single', '-D', cluster.name, '-c', 'log_min_messages=error', 'postgres'];
  const output = await runProgram(
    place,
    place.binaries.postgres,
    args,
    cluster.folder,
    `CREATE DATABASE "${database}"\n`,
  );
  // In this mode the program ends with success whatever becomes of the statement.
  if (/ERROR|FATAL/.test(output) && !output.includes('already exists')) throw failedProgram('CREATE DATABASE', output);
  await writeFile(join(dataDir, 'databases'), `${database}\n`, { flag: 'a', mode: 0o600 });
}

/** Whether `database` was made by an earlier start. */
export async function hasDatabase(dataDir: string, database: string): Promise<boolean> {
  const list = join(dataDir, 'databases');
  return (await isPresent(list)) && (await readFile(list, 'utf8')).split('\n').includes(database);
}

async function makeCluster(place: Place, dataDir: string, folder: string): Promise<void> {
  await removeUnfinished(dataDir);
  await rm(join(dataDir, 'databases'), { force: true });
  await writeFile(join(dataDir, 'password'), randomBytes(24).toString('hex'), { mode: 0o600 });
  const unfinished = join(dataDir, `unfinished-${process.pid}`);
  await mkdir(unfinished, { mode: 0o700 });
  // One by one: the outer folder may be the account's from an earlier start, what was just made is not.
  await giveTo(place.account, unfinished);
  await giveTo(place.account, join(dataDir, 'password'));
  await giveTo(place.account, dataDir);
  const locale = ['--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'];
  const access = [`--username=${ROLE}`, '--auth=scram-sha-256', '--pwfile=../password'];
  const name = await nameFor(place, dataDir, unfinished);
  await runProgram(place, place.binaries.initdb, ['-D', name, ...locale, ...access], unfinished);
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
 * `nobody` cannot walk through closed folders, but it may stay in one where it was put: the link that Linux keeps to
 * the working directory leads there without touching the folders above.
 */
async function nameFor(place: Place, dataDir: string, folder: string): Promise<string> {
  if (place.account !== 'nobody' || (await isReachable(join(dataDir, '..')))) return folder;
  return '/proc/self/cwd';
}

/**
 * Whoever made the data decides what the server runs, and its folder is given to the account of the server and closed. So
 * it is neither another user's nor a link to some other folder, and was closed since the server was made in it.
 */
async function requireOwn(dataDir: string, hasCluster: boolean): Promise<void> {
  const found = await lstat(dataDir);
  if (found.isSymbolicLink())
    throw unusableData(`${dataDir} is a link`, 'set INDEXER_DATA_DIR to a folder where it leads');
  if (!isOurs(found))
    throw unusableData(`${dataDir} belongs to another user`, 'set INDEXER_DATA_DIR to a folder of yours');
  if (hasCluster && !isClosed(found)) {
    throw unusableData(
      `${dataDir} is open to other users, who may have changed what the server runs`,
      `if you trust its contents, run: chmod 700 ${dataDir}; otherwise remove it`,
    );
  }
}

async function requireVersion(server: string, folder: string): Promise<void> {
  const made = (await readFile(join(folder, 'PG_VERSION'), 'utf8')).trim();
  if (made === server.split('.')[0]) return;
  throw unusableData(
    `${folder} was made by Postgres ${made}, this is ${server}`,
    'move that folder away and seed again, or use the release that made it',
  );
}

async function readPassword(dataDir: string): Promise<string> {
  const file = join(dataDir, 'password');
  if (await isPresent(file)) return (await readFile(file, 'utf8')).trim();
  throw unusableData(`${file} is missing`, 'put it back, or move the folder away and seed again');
}

async function isPresent(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

/** Whether there is a process with this id, ours or not. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (thrown) {
    return thrown instanceof Error && 'code' in thrown && thrown.code === 'EPERM';
  }
}
