/**
 * The Postgres server of the benchmarks, and its databases. Every run starts with an empty database, after a checkpoint,
 * so that it does not write dirty pages of the previous run.
 */

import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Client, escapeIdentifier } from 'pg';
import { startEmbeddedPostgres } from '../packages/embedded-postgres/src/embedded-postgres.ts';
import { loadConfig } from '../src/config/config.ts';
import { openDatabase } from '../src/store/connection/database.ts';
import { readSchemas } from '../src/store/connection/read-schemas.ts';
import { migrate } from '../src/store/schema/migrations.ts';
import { onExit, type CleanupStep } from './cleanup.ts';
import { parentOf, treeCpu } from './figures/process-cpu.ts';

/** Schema of the tables in the database of every run. */
export const schema = 'ledger';

/** Schema of the views for readers. */
export const { explore } = readSchemas(schema);

export interface ServerOptions {
  /** URL of a server whose role may create databases; default: an embedded server is started. */
  readonly url: string | undefined;
  /** Temporary folder for the files of the embedded server. */
  readonly folder: string;
  /** Settings of the embedded server; all others have the defaults of Postgres. */
  readonly settings: Readonly<Record<string, string>>;
}

export interface Server {
  readonly version: string;
  /** Settings that differ from the defaults, for the report. */
  readonly settings: string;
  /** CPU time of the complete server so far, microseconds; undefined for a server on another machine. */
  cpu(): number | undefined;
  /** The write-ahead log and the checkpoints of the complete server so far. */
  wal(): Promise<WalPosition>;
  /** Creates an empty database, or a copy of another one. */
  createDatabase(template?: RunDatabase): Promise<RunDatabase>;
}

export interface WalPosition {
  readonly bytes: number;
  /** Number of pages that were logged completely, because they were changed for the first time since a checkpoint. */
  readonly fullPages: number;
  readonly checkpoints: number;
}

export interface RunDatabase {
  readonly name: string;
  readonly url: string;
  drop(): Promise<void>;
}

/** Starts the embedded server, or opens the one in `url`. */
export async function openServer(options: ServerOptions): Promise<Server> {
  const url = options.url ?? (await startEmbedded(options));
  const admin = await connect(url);
  onExit(() => admin.end());
  const { rows } = await admin.query<{ version: string; pid: number; local: boolean }>(
    `select current_setting('server_version') as version, pg_backend_pid() as pid,
            coalesce(inet_server_addr() in ('127.0.0.1', '::1'), true) as local`,
  );
  const facts = rows[0] ?? { version: '?', pid: 0, local: false };
  const postmaster = facts.local ? parentOf(facts.pid) : undefined;
  return {
    version: facts.version,
    settings: Object.entries(options.settings)
      .map((pair) => pair.join('='))
      .join(' '),
    cpu: () => (postmaster === undefined ? undefined : treeCpu(postmaster)),
    wal: () => walPosition(admin),
    createDatabase: (template) => createDatabase(admin, url, template),
  };
}

async function startEmbedded({ folder, settings }: ServerOptions): Promise<string> {
  mkdirSync(folder, { recursive: true });
  const serverFolder = mkdtempSync(join(folder, 'postgres-'));
  onExit(() => {
    rmSync(serverFolder, { recursive: true, force: true });
  });
  const server = await startEmbeddedPostgres({ dataDir: serverFolder, settings });
  onExit(() => server.stop());
  return server.url;
}

/** Statistics of sessions are only available when the sessions have ended. The position of the log is always exact. */
async function walPosition(admin: Client): Promise<WalPosition> {
  const isNewerSchema =
    (await admin.query(`select from pg_class where relname = 'pg_stat_checkpointer'`)).rowCount === 1;
  const checkpoints = isNewerSchema
    ? 'num_timed + num_requested from pg_stat_checkpointer'
    : 'checkpoints_timed + checkpoints_req from pg_stat_bgwriter';
  const { rows } = await admin.query<Record<keyof WalPosition, string>>(
    `select pg_current_wal_lsn() - '0/0' as bytes, (select wal_fpi from pg_stat_wal) as "fullPages",
            (select ${checkpoints}) as checkpoints`,
  );
  const [row] = rows;
  return { bytes: Number(row?.bytes), fullPages: Number(row?.fullPages), checkpoints: Number(row?.checkpoints) };
}

let databases = 0;

async function createDatabase(admin: Client, base: string, template?: RunDatabase): Promise<RunDatabase> {
  databases += 1;
  const name = `bench_${String(process.pid)}_${String(databases)}`;
  const from = template === undefined ? 'template0' : `${escapeIdentifier(template.name)} strategy file_copy`;
  await admin.query(`create database ${name} template ${from}`);
  await admin.query('checkpoint');
  const url = new URL(base);
  url.pathname = `/${name}`;
  const drop: CleanupStep = onExit(async () => {
    await admin.query(`drop database if exists ${name} with (force)`);
  });
  return { name, url: url.href, drop };
}

/** Connects to a database; the caller closes the client. */
export async function connect(url: string): Promise<Client> {
  const client = new Client({ connectionString: url, application_name: 'bench' });
  // A database that is dropped by force must not end the measurements.
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

/** Runs `work` with a separate client. */
export async function withClient<T>(url: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = await connect(url);
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** Migrates an empty database to the schema of the indexer, as the program would with `env`. */
export async function migrateSchema(
  database: RunDatabase,
  env: Readonly<Record<string, string>> = {},
): Promise<RunDatabase> {
  const runDatabase = openDatabase({
    url: database.url,
    schema,
    statementTimeoutMs: 60_000,
    applicationName: 'bench migrations',
  });
  try {
    await migrate(runDatabase, { exerciseJson: loadConfig(env).indexer.exerciseJson });
  } finally {
    await runDatabase.close();
  }
  return database;
}
