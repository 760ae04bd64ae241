/**
 * A Postgres server for demos and tests: real server programs from npm, with data in one folder that persists between
 * runs. Only this machine can reach it, and only with a password that other users cannot read. In production,
 * use a server of your own.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ServerError } from './server-error.ts';
import { type Account, chooseAccount } from './account.ts';
import { findBinaries } from './binaries.ts';
import { type Cluster, clusterUrl, DATABASE, ensureDatabase, hasDatabase, isAlive, openCluster } from './cluster.ts';
import { type Postmaster, findPostmaster, startPostmaster, stopPostmaster } from './postmaster.ts';
import type { ProgramPaths } from './run-program.ts';
import { unusableData } from './unavailable.ts';
import { once } from 'node:events';
import { createServer } from 'node:net';

const ATTEMPTS = 5;
const ATTEMPT_DELAY_MS = 500;
const START_LIMIT_MS = 120_000;

export interface EmbeddedPostgresOptions {
  /** Folder of the server's files, created if missing. Everything in it belongs to the server. */
  readonly dataDir: string;
  /** TCP port on 127.0.0.1, or a function that returns one for each attempt to start; default: a free port. */
  readonly port?: number | (() => Promise<number>);
  /** Lower-case name of the database, created if missing; default `ledger_indexer`. */
  readonly database?: string;
  /** Server settings by name, as in postgresql.conf. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Receives the server's log, line by line. */
  readonly log?: (line: string) => void;
  /** Maximum time of a start, and between two progress messages of a recovery, milliseconds; default two minutes. */
  readonly startLimitMs?: number;
  /** The account of the server's programs; default: the best that works on this machine. */
  readonly account?: Account;
}

export interface EmbeddedPostgres {
  /** Connection URL. It includes the password, so it must not be logged. */
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  /** The server's version, e.g. `17.10`. */
  readonly version: string;
  /**
   * True if the server was already running. It was started by a process that has ended, or by another running process.
   */
  readonly reused: boolean;
  /** True if another running process started the server and uses its data folder. */
  readonly shared: boolean;
  /** Stops the server, unless another running process started it. Can be called again. */
  stop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Starts the server in `dataDir`, or uses a server that already runs there, and waits until it accepts connections.
 * @throws ServerError EMBEDDED_POSTGRES_UNAVAILABLE (no programs for this machine), EMBEDDED_POSTGRES_DATA (folder not
 *   usable) or EMBEDDED_POSTGRES_FAILED (with the server's last lines)
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const dataDir = resolve(options.dataDir);
  const database = options.database ?? DATABASE;
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(database)) {
    throw unusableData(`${JSON.stringify(database)} is not a database name`, 'use a-z, 0-9 and _, at most 63');
  }
  const account = options.account ?? chooseAccount();
  const installation: ProgramPaths = { account, binaries: await findBinaries(account, join(dataDir, 'links')) };
  const cluster = await openCluster(installation, dataDir);
  const runningServer = await joinRunningServer(cluster, dataDir, database, options.port);
  if (runningServer === undefined) await ensureDatabase(installation, dataDir, cluster, database);
  const server = runningServer ?? (await startWithRetries(installation, cluster, options));
  const isOwnServer = runningServer === undefined || !(await hasOtherOwner(dataDir));
  if (isOwnServer) await writeFile(ownerFile(dataDir), String(process.pid), { mode: 0o600 });
  let stopped: Promise<void> | undefined;
  const stop = async (): Promise<void> => {
    stopped ??= isOwnServer ? stopPostmaster(cluster, server) : Promise.resolve();
    await stopped;
  };
  return {
    url: clusterUrl(cluster.password, server.port, database),
    port: server.port,
    pid: server.pid,
    version: installation.binaries.version,
    reused: runningServer !== undefined,
    shared: !isOwnServer,
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

/** Returns the running server. If it does not match the options, it is stopped, unless another process uses it. */
async function joinRunningServer(
  cluster: Cluster,
  dataDir: string,
  database: string,
  requestedPort: EmbeddedPostgresOptions['port'],
): Promise<Postmaster | undefined> {
  const runningServer = await findPostmaster(cluster);
  if (runningServer === undefined) return undefined;
  const port = typeof requestedPort === 'number' ? requestedPort : runningServer.port;
  if (port === runningServer.port && (await hasDatabase(dataDir, database))) return runningServer;
  if (await hasOtherOwner(dataDir)) {
    throw unusableData(
      `another process runs the server in ${dataDir} on port ${runningServer.port}, without the requested settings`,
      'stop that process, or use another folder',
    );
  }
  await stopPostmaster(cluster, runningServer);
  return undefined;
}

/**
 * Retries after two temporary failures: another program has taken the port, or processes of a killed server remain.
 */
async function startWithRetries(
  installation: ProgramPaths,
  cluster: Cluster,
  options: EmbeddedPostgresOptions,
): Promise<Postmaster> {
  for (let attempt = 1; ; attempt++) {
    const { port: requestedPort = freePort } = options;
    const port = typeof requestedPort === 'number' ? requestedPort : await requestedPort();
    try {
      return await startPostmaster(installation, cluster, {
        port,
        settings: options.settings ?? {},
        log: options.log ?? (() => undefined),
        limitMs: options.startLimitMs ?? START_LIMIT_MS,
      });
    } catch (error) {
      const reason = error instanceof ServerError ? error.message : '';
      const transientError = /could not bind|could not create any TCP|shared memory block .*still in use/.test(reason);
      if (!transientError || attempt === ATTEMPTS) throw error;
      await sleep(ATTEMPT_DELAY_MS);
    }
  }
}

function ownerFile(dataDir: string): string {
  return join(dataDir, 'owner.pid');
}

async function hasOtherOwner(dataDir: string): Promise<boolean> {
  let text: string;
  try {
    text = await readFile(ownerFile(dataDir), 'utf8');
  } catch {
    return false;
  }
  const pid = Number(text);
  return Number.isInteger(pid) && pid > 0 && pid !== process.pid && isAlive(pid);
}

// A TCP port of this machine that is free now. Postgres cannot choose a free port, so the port is chosen beforehand.

/** @returns a port number on 127.0.0.1. Another process may take it before it is used, so be ready to retry. */
export async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('a TCP server has no port');
  return address.port;
}
