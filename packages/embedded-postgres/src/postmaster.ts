/**
 * Starts, finds and stops the server process. A server continues to run when its Node process is killed. The next
 * process finds it by the lock file.
 */
import type { ChildProcess } from 'node:child_process';
import { readFile, readlink, realpath, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Cluster } from './cluster.ts';
import { isAlive } from './cluster.ts';
import { sharedBuffers } from './page-cache.ts';
import type { ProgramPaths } from './run-program.ts';
import { startProgram } from './run-program.ts';
import { failedProgram } from './unavailable.ts';
import { maxWalSize, walFreeBytes } from './wal-size.ts';

/** Time limit of a stop. Writing a full page cache of 3 GB took 18 s in a measurement. */
const FAST_STOP_LIMIT_MS = 60_000;
const HARD_STOP_LIMIT_MS = 10_000;
const POLL_MS = 20;
/**
 * Logged every ten seconds while a killed server recovers from its log. An interrupted recovery starts from the
 * beginning.
 */
const progress = /, elapsed time: /;

export interface Postmaster {
  readonly pid: number;
  readonly port: number;
}

export interface PostmasterStart {
  readonly port: number;
  readonly settings: Readonly<Record<string, string>>;
  readonly log: (line: string) => void;
  /** Maximum time until the server accepts connections or reports progress of its recovery; milliseconds. */
  readonly limitMs: number;
}

type ClusterFolder = Pick<Cluster, 'folder'>;

/** The server that runs on this cluster; undefined if there is none. Changes nothing. */
export async function runningPostmaster(cluster: ClusterFolder): Promise<Postmaster | undefined> {
  const lockRecord = await readLock(cluster);
  return lockRecord !== undefined && (await isPostmaster(lockRecord.pid, cluster)) ? lockRecord : undefined;
}

/**
 * The server that already runs on this cluster; undefined if there is none. Removes the lock file of a server that has
 * ended.
 */
export async function findPostmaster(cluster: Cluster): Promise<Postmaster | undefined> {
  const lockRecord = await readLock(cluster);
  if (lockRecord === undefined) return undefined;
  if (await isPostmaster(lockRecord.pid, cluster)) return lockRecord;
  await rm(join(cluster.folder, 'postmaster.pid'), { force: true });
  return undefined;
}

/**
 * Starts the server on 127.0.0.1 and waits until it accepts connections. Its log lines are passed to `log` as long as
 * this process runs; the server does not keep this process running.
 * @throws ServerError EMBEDDED_POSTGRES_FAILED with the server's last lines if it does not start
 */
export async function startPostmaster(
  installation: ProgramPaths,
  cluster: Cluster,
  start: PostmasterStart,
): Promise<Postmaster> {
  const { port, log } = start;
  const allSettings = { ...ownSettings(port, await walFreeBytes(cluster.folder)), ...start.settings };
  const args = Object.entries(allSettings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const child = startProgram(
    installation,
    installation.binaries.postgres,
    ['-D', cluster.name, ...args],
    cluster.folder,
  );
  child.stdin?.end();
  child.stdout?.resume();
  await waitUntilReady(child, log, start.limitMs);
  child.unref();
  for (const stream of [child.stdout, child.stderr]) if (stream !== null && 'unref' in stream) unref(stream);
  if (child.pid === undefined) throw failedProgram('postgres', 'it has no process id');
  return { pid: child.pid, port };
}

/** Stops the server: open transactions are rolled back, and everything committed is on disk. */
export async function stopPostmaster(cluster: Cluster, server: Postmaster): Promise<void> {
  if (!send(server.pid, 'SIGINT')) return;
  if (await isGone(cluster, server, FAST_STOP_LIMIT_MS)) return;
  // Clients that keep the server busy for longer are disconnected. The server then recovers from its log at the next
  // start.
  send(server.pid, 'SIGQUIT');
  if (await isGone(cluster, server, HARD_STOP_LIMIT_MS)) return;
  throw failedProgram('postgres', `process ${server.pid} does not stop`);
}

function ownSettings(port: number, freeBytes: number): Readonly<Record<string, string>> {
  return {
    port: String(port),
    listen_addresses: '127.0.0.1',
    // There is no socket file, because its path could be too long, and its folder is closed to other users.
    unix_socket_directories: '',
    shared_buffers: sharedBuffers(),
    // Superusers and members of pg_use_reserved_connections can connect when all other connections are taken.
    reserved_connections: '25',
    // The first change of a page after a checkpoint writes the full page to the log, so fewer checkpoints write less.
    max_wal_size: maxWalSize(freeBytes),
    checkpoint_timeout: '15min',
    // Pages are in memory or on an SSD. With the default of 4, for spinning disks, complete tables are read instead of
    // an index.
    random_page_cost: '1.1',
    // Error details, contexts and statements quote row contents, which must not reach a log.
    log_error_verbosity: 'terse',
    log_min_error_statement: 'panic',
    timezone: 'UTC',
    log_timezone: 'UTC',
  };
}

async function waitUntilReady(child: ChildProcess, log: (line: string) => void, limitMs: number): Promise<void> {
  if (child.stderr === null) throw failedProgram('postgres', 'it has no stderr');
  const last: string[] = [];
  let limit: NodeJS.Timeout | undefined;
  await new Promise<void>((resolve, reject) => {
    const fail = (cause?: unknown): void => reject(failedProgram('postgres', last.join('\n'), cause));
    const abandon = (): void => {
      child.kill('SIGQUIT');
      last.push(`it was not ready after ${limitMs / 1000} s`);
      fail();
    };
    const lines = createInterface({ input: child.stderr as NodeJS.ReadableStream });
    lines.on('line', (line) => {
      log(line);
      if (last.push(line) > 20) last.shift();
      if (progress.test(line)) limit?.refresh();
      if (line.includes('database system is ready to accept connections')) resolve();
    });
    child.once('error', fail);
    child.once('close', () => fail());
    limit = setTimeout(abandon, limitMs);
  }).finally(() => {
    // The timer is stopped after the start, because it would kill a working server.
    clearTimeout(limit);
  });
}

function unref(stream: object): void {
  // Pipes of child processes are sockets, but Node's types lack the method.
  (stream as { unref(): void }).unref();
}

async function readLock(cluster: ClusterFolder): Promise<Postmaster | undefined> {
  let text: string;
  try {
    text = await readFile(join(cluster.folder, 'postmaster.pid'), 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
  // Line 1 is the process id, line 4 the port.
  const lines = text.split('\n');
  const pid = Number(lines[0]);
  return Number.isInteger(pid) && pid > 0 ? { pid, port: Number(lines[3]) } : undefined;
}

/** Process ids are reused, so the process must be a Postgres and, if that can be determined, run in this folder. */
async function isPostmaster(pid: number, cluster: ClusterFolder): Promise<boolean> {
  if (!isAlive(pid)) return false;
  if (process.platform !== 'linux') return true;
  try {
    const [program, folder] = [await readlink(`/proc/${pid}/exe`), await readlink(`/proc/${pid}/cwd`)];
    return basename(program).startsWith('postgres') && folder === (await realpath(cluster.folder));
  } catch {
    return false;
  }
}

function send(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}

async function isGone(cluster: Cluster, server: Postmaster, limitMs: number): Promise<boolean> {
  const end = performance.now() + limitMs;
  while (await isPostmaster(server.pid, cluster)) {
    if (performance.now() > end) return false;
    await sleep(POLL_MS);
  }
  return true;
}
