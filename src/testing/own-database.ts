/** A database for one test, either on the server of a URL or on an embedded server of its own. */
import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { embeddedPostgres } from '../cli/demo/optional-parts.ts';
import { openDatabase, type Database } from '../store/connection/database.ts';
import type { Ending } from './ending.ts';

export interface OwnDatabase {
  readonly url: string;
  readonly query: <Row>(sql: string, params?: readonly unknown[]) => Promise<Row[]>;
}

/**
 * Settings for data that need not survive a power failure, on one of several servers: small tables, little memory,
 * little disk.
 */
const settings = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  shared_buffers: '128MB',
  max_wal_size: '1GB',
};

/**
 * @throws IndexerError STORE_… if the server cannot be used, EMBEDDED_POSTGRES_… if there is no embedded server for
 * this machine
 */
export async function startOwnDatabase(serverUrl: string | undefined, ending: Ending): Promise<OwnDatabase> {
  const url = serverUrl === undefined ? await startServer(ending) : await createDatabase(serverUrl, ending);
  const database = open(url);
  ending.add(() => database.close());
  return { url, query: (sql, params) => rowsOf(database, sql, params) };
}

async function rowsOf<Row>(database: Database, sql: string, params: readonly unknown[] = []): Promise<Row[]> {
  const { rows } = await database.pool.query(sql, [...params]);
  return rows as Row[];
}

function open(url: string): Database {
  return openDatabase({ url, schema: 'ledger', statementTimeoutMs: 60_000, applicationName: 'ledger-indexer testing' });
}

async function startServer(ending: Ending): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'ledger-indexer-testing-'));
  ending.add(() => rm(folder, { recursive: true, force: true }));
  const { startEmbeddedPostgres } = await embeddedPostgres();
  const server = await startEmbeddedPostgres({ dataDir: folder, settings });
  const watchdog = startWatchdog(server.pid, folder);
  ending.add(async () => {
    await server.stop();
    watchdog.kill('SIGKILL');
  });
  return server.url;
}

/**
 * Starts a shell that ends the server when this process ends, so that a killed test run leaves no server behind. The
 * shell waits until the pipe from this process is closed, however the process ends. Without a shell (Windows), the
 * server keeps running.
 */
function startWatchdog(pid: number, folder: string): ChildProcess {
  const script = 'read -r _; kill -QUIT "$1"; sleep 1; rm -rf "$2"';
  const watchdog = spawn('sh', ['-c', script, 'sh', String(pid), folder], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  watchdog.on('error', () => undefined);
  watchdog.unref();
  (watchdog.stdin as Socket | null)?.unref();
  return watchdog;
}

async function createDatabase(serverUrl: string, ending: Ending): Promise<string> {
  const name = `ledger_indexer_${randomBytes(6).toString('hex')}`;
  await once(serverUrl, `create database ${name} encoding 'UTF8' template template0`);
  ending.add(() => once(serverUrl, `drop database if exists ${name} with (force)`));
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return url.href;
}

async function once(url: string, sql: string): Promise<void> {
  const database = open(url);
  try {
    await database.withClient((client) => client.query(sql));
  } finally {
    await database.close();
  }
}
