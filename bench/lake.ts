/**
 * `npm run bench:lake`: measures the Parquet export and compares its files with Postgres. Format:
 * docs/reference/parquet-format.md.
 */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Client } from 'pg';
import { startChild } from './child.ts';
import { onExit, runToEnd } from './cleanup.ts';
import { peakRssMiB, processCpu } from './figures/process-cpu.ts';
import { printStatus } from './figures/terminal.ts';
import { prepareOutputs } from './indexer-process.ts';
import { runIngest } from './ingest.ts';
import { hashInDuckDb, hashInHyparquet, hashInPostgres, type LakeManifest, readManifest } from './lake/compare.ts';
import { measureBookkeeping } from './lake/bookkeeping.ts';
import { crashAfterEach, crashInChain, type CrashCounts } from './lake/crashes.ts';
import { help, readLakeOptions, type LakeOptions } from './lake/options.ts';
import { explore, openServer, schema, withClient, type RunDatabase, type Server } from './postgres.ts';
import { expectedAfter, profileNamed } from './replay/profiles.ts';
import { updatesRecording } from './replay/recording.ts';

interface Exported {
  readonly seconds: number;
  readonly nodeSeconds: number | undefined;
  readonly rssMiB: number | undefined;
  readonly rows: number;
}

interface TableComparison {
  readonly tables: number;
  readonly equal: number;
  readonly readers: readonly string[];
}

const profile = profileNamed('default');

/**
 * Maximum number of rows per table and range. Small enough for several ranges in the small history, and for little
 * repetition after a kill in the large one.
 */
const crashRows = { small: 500, large: 25_000 } as const;

/** Indexes the recording with the program, and runs `work` with the finished database. */
async function indexLedger(
  server: Server,
  options: LakeOptions,
  transactions: number,
  callback: (database: RunDatabase) => Promise<void>,
) {
  const recording = updatesRecording({ folder: options.cache, profile, count: transactions, say: printStatus });
  printStatus(`indexing ${String(transactions)} transactions`);
  const variant = { name: 'as shipped', env: {} };
  const run = await runIngest({ server, profile, recording, transactions, variant, unchecked: true }, callback);
  if (run.error !== undefined) throw new Error(run.error);
}

/** Runs the export as operators do. */
async function exported(databaseUrl: string, dir: string): Promise<Exported> {
  const file = join(dirname(dirname(fileURLToPath(import.meta.url))), 'src', 'main.js');
  const env = { DATABASE_URL: databaseUrl, POSTGRES_SCHEMA: schema };
  const startMs = performance.now();
  const child = startChild({ file, args: ['export', '--to', dir, '--json'], env });
  let [rssMiB, micros]: (number | undefined)[] = [];
  const sampling = setInterval(() => {
    rssMiB = peakRssMiB(child.pid) ?? rssMiB;
    micros = processCpu(child.pid) ?? micros;
  }, 50);
  const reason: unknown = await child.died.catch((error: unknown) => error);
  clearInterval(sampling);
  const seconds = (performance.now() - startMs) / 1000;
  if (child.process.exitCode !== 0) throw reason;
  const manifest = readManifest(dir) as LakeManifest;
  const rows = manifest.files.reduce((sum, fileName) => sum + fileName.rows, 0);
  return { seconds, nodeSeconds: micros === undefined ? undefined : micros / 1e6, rssMiB, rows };
}

/** Checks that tables have the same content in Postgres and in every available reader. */
async function compareTables(client: Client, dir: string): Promise<TableComparison> {
  const manifest = readManifest(dir) as LakeManifest;
  const duck = await duckDb();
  let equalTables = 0;
  const tables = Object.keys(manifest.tables);
  for (const table of tables) {
    printStatus(`comparing ${table}`);
    const expected = await hashInPostgres(client, manifest, table, { storage: schema, explore, typed: 'typed' });
    const hashes = [await hashInHyparquet(dir, manifest, table)];
    if (duck !== undefined) hashes.push(await hashInDuckDb(duck, dir, manifest, table));
    if (hashes.every(({ rows, md5 }) => rows === expected.rows && md5 === expected.md5)) equalTables += 1;
    else process.stderr.write(`${table}: ${JSON.stringify({ wanted: expected, found: hashes })}\n`);
  }
  return {
    tables: tables.length,
    equal: equalTables,
    readers: ['hyparquet', ...(duck === undefined ? [] : ['duckdb'])],
  };
}

async function duckDb() {
  try {
    const { DuckDBInstance } = await import('@duckdb/node-api');
    const connection = await (await DuckDBInstance.create(':memory:', { threads: '1' })).connect();
    return async (sql: string) => (await connection.runAndReadAll(sql)).getRowObjectsJson()[0];
  } catch (error) {
    process.stderr.write(`without DuckDB: ${String(error)}\n`);
    return undefined;
  }
}

function bytesOf(dir: string): number {
  const files = readdirSync(dir, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return files.reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);
}

async function postgresBytes(client: Client): Promise<number> {
  await client.query('vacuum (analyze)');
  const { rows } = await client.query<{ bytes: string }>(
    `select sum(pg_total_relation_size(c.oid)) as bytes from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = $1 and c.relkind = 'r'`,
    [schema],
  );
  return Number(rows[0]?.bytes);
}

function figuresOf(
  run: Exported,
  serverMicros: number,
  events: number,
  bytes: { readonly lake: number; readonly postgres: number },
): object {
  return {
    events,
    rows: run.rows,
    seconds: run.seconds,
    node_seconds: run.nodeSeconds,
    postgres_seconds: serverMicros / 1e6,
    // Rate per core of the export, because the elapsed time also depends on other programs on the machine.
    rows_per_s: Math.round(run.rows / (run.nodeSeconds ?? run.seconds)),
    rows_per_s_elapsed: Math.round(run.rows / run.seconds),
    bytes: bytes.lake,
    bytes_per_event: Number((bytes.lake / events).toFixed(1)),
    postgres_bytes_per_event: Number((bytes.postgres / events).toFixed(1)),
    bytes_vs_postgres: Number((bytes.lake / bytes.postgres).toFixed(4)),
    rss_mb: run.rssMiB,
  };
}

async function measureLake(server: Server, options: LakeOptions): Promise<object> {
  const { events } = expectedAfter(profile, options.transactions);
  let figures: object | undefined;
  const crashes: CrashCounts[] = [];
  await indexLedger(server, options, options.transactions, async ({ url }) => {
    const dir = mkdtempSync(join(options.folder, 'lake-'));
    onExit(() => {
      rmSync(dir, { recursive: true, force: true });
    });
    const postgres = await withClient(url, postgresBytes);
    printStatus('exporting');
    const serverBefore = server.cpu();
    const run = await exported(url, dir);
    const serverMicros = (server.cpu() ?? 0) - (serverBefore ?? 0);
    const { tables, equal: equalTables, readers } = await withClient(url, (client) => compareTables(client, dir));
    figures = {
      ...figuresOf(run, serverMicros, events, { lake: bytesOf(dir), postgres }),
      tables,
      tables_equal: equalTables,
      readers,
    };
    printStatus(JSON.stringify(figures));
    rmSync(dir, { recursive: true });
    if (options.crashTransactions > 0) crashes.push(await crashInChain(url, options.folder, crashRows.large));
  });
  if (options.crashTransactions > 0)
    await indexLedger(server, options, options.crashTransactions, async ({ url }) => {
      crashes.push(await crashAfterEach(url, options.folder, crashRows.small));
    });
  const [cpu] = cpus();
  const machine = `${String(cpus().length)} x ${cpu?.model.trim() ?? '?'}, Node ${process.version}, Postgres ${server.version}`;
  return {
    ...figures,
    crash_points: sumOf(crashes.map(({ points: pointCount }) => pointCount)),
    crash_points_equal: sumOf(crashes.map(({ equal: equalPoints }) => equalPoints)),
    crash_points_in_chain: crashes[0]?.points,
    machine,
  };
}

function sumOf(numbers: readonly number[]): number | undefined {
  return numbers.length === 0 ? undefined : numbers.reduce((sum, number) => sum + number, 0);
}

async function indexAndMeasure(options: LakeOptions): Promise<object> {
  printStatus('starting Postgres');
  return await measureLake(
    await openServer({ url: options.databaseUrl, folder: options.folder, settings: {} }),
    options,
  );
}

async function main(): Promise<void> {
  const options = readLakeOptions(process.argv.slice(2));
  if (options === undefined) return void process.stdout.write(help);
  prepareOutputs();
  for (const folder of [options.cache, options.folder]) if (!existsSync(folder)) mkdirSync(folder, { recursive: true });
  const { made: madeLake, folder } = options;
  const figures = madeLake === undefined ? await indexAndMeasure(options) : await measureBookkeeping(folder, madeLake);
  printStatus('');
  const text = `${JSON.stringify(figures, null, 2)}\n`;
  process.stdout.write(text);
  if (options.json !== undefined) writeFileSync(options.json, text);
}

await runToEnd('bench:lake', main);
