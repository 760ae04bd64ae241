/**
 * A demo for the check of the dashboards: an embedded Postgres, a sandbox ledger with the demo traffic, the indexer, a
 * read-only role, and a real Prometheus that scrapes it. It uses free ports and a temporary folder.
 */
import { randomBytes } from 'node:crypto';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { freePort, startEmbeddedPostgres } from '../../packages/embedded-postgres/src/embedded-postgres.ts';
import { runToEnd, startProgram, type Program } from './program.ts';

/** The built program; npm runs scripts in the folder of the package. */
const main = resolve('dist/main.js');
const role = 'dashboard_reader';
/** Scrape interval, milliseconds. */
const scrapeMs = 1_000;

export interface Demo {
  readonly prometheusUrl: string;
  /** Connection URL of the read-only role. */
  readonly readerUrl: string;
  /** Address of the indexer's HTTP endpoints. */
  readonly httpUrl: string;
  stop(): Promise<void>;
}

export interface DemoOptions {
  /** Folder for all files; it must be empty. */
  readonly folder: string;
  /** Rate of the sandbox's traffic; undefined for the default of the demo. */
  readonly updatesPerSecond: number | undefined;
}

/** Starts all services and waits until the indexer is live. @throws Error with the last lines of the failed service */
export async function startDemo({ folder, updatesPerSecond }: DemoOptions): Promise<Demo> {
  const cleanups: (() => Promise<void>)[] = [];
  const stop = async (): Promise<void> => {
    for (const cleanupStep of cleanups.splice(0).toReversed()) await cleanupStep();
  };
  try {
    const postgres = await startEmbeddedPostgres({ dataDir: join(folder, 'postgres') });
    cleanups.push(() => postgres.stop());
    const sandbox = startProgram(process.execPath, [main, 'sandbox', '--port', '0'], {
      ...bareEnvironment(),
      ...(updatesPerSecond !== undefined && { INDEXER_DEMO_UPDATES_PER_SECOND: String(updatesPerSecond) }),
    });
    cleanups.push(() => sandbox.stop());
    const ledgerUrl = await waitUntil('the sandbox listens', sandbox, () => sandboxUrl(sandbox.output()));
    const indexer = startProgram(process.execPath, [main], {
      ...bareEnvironment(),
      LEDGER_URL: ledgerUrl,
      LEDGER_INTERFACES: 'tokens',
      LEDGER_TOKEN: token(),
      DATABASE_URL: postgres.url,
      INDEXER_START: 'genesis',
      INDEXER_HTTP_PORT: '0',
      INDEXER_LOG_FORMAT: 'json',
    });
    cleanups.push(() => indexer.stop());
    const httpUrl = await waitUntil('the indexer listens', indexer, () => listeningUrl(indexer.output()));
    await waitUntil('the indexer is live', indexer, () => fetchReady(`${httpUrl}/readyz`));
    const readerUrl = await makeReader(folder, postgres.url);
    await analyze(postgres.url);
    const prometheusUrl = await startPrometheus(folder, httpUrl, cleanups);
    return { prometheusUrl, readerUrl, httpUrl, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function startPrometheus(folder: string, httpUrl: string, cleanups: (() => Promise<void>)[]): Promise<string> {
  const data = join(folder, 'prometheus');
  await mkdir(data);
  const config = join(folder, 'prometheus.yaml');
  const { host } = new URL(httpUrl);
  await writeFile(
    config,
    `global: { scrape_interval: ${scrapeMs}ms, scrape_timeout: ${scrapeMs}ms }\n` +
      `scrape_configs: [{ job_name: ledger-indexer, static_configs: [{ targets: ['${host}'] }] }]\n`,
  );
  const address = `127.0.0.1:${await freePort()}`;
  const args = [`--config.file=${config}`, `--storage.tsdb.path=${data}`, `--web.listen-address=${address}`];
  const prometheus = startProgram('prometheus', args, bareEnvironment());
  cleanups.push(() => prometheus.stop());
  await waitUntil('Prometheus is ready', prometheus, () => fetchReady(`http://${address}/-/ready`));
  return `http://${address}`;
}

/** Collects statistics for the planner. Autovacuum would do so only within a minute. */
async function analyze(url: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query('vacuum analyze');
  } finally {
    await client.end();
  }
}

/** Creates the role with the command that operators use. Returns its URL. */
async function makeReader(folder: string, ownerUrl: string): Promise<string> {
  const password = randomBytes(12).toString('hex');
  const file = join(folder, 'reader-password');
  await writeFile(file, password, { mode: 0o600 });
  const args = [main, 'grant-reader', role, '--password-file', file];
  const { status, output } = runToEnd(process.execPath, args, { ...bareEnvironment(), DATABASE_URL: ownerUrl });
  await rm(file);
  if (status !== 0) throw new Error(`grant-reader failed:\n${output}`);
  const url = new URL(ownerUrl);
  url.username = role;
  url.password = password;
  return url.href;
}

/** A token that expires. The sandbox needs none, but the panel about tokens does. */
function token(): string {
  const encodePart = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const exp = Math.floor(Date.now() / 1000) + 3_600;
  return `${encodePart({ alg: 'none' })}.${encodePart({ sub: 'dashboards', exp })}.${encodePart('unsigned')}`;
}

function bareEnvironment(): NodeJS.ProcessEnv {
  const { PATH, HOME, TMPDIR } = process.env;
  return { PATH, ...(HOME !== undefined && { HOME }), ...(TMPDIR !== undefined && { TMPDIR }) };
}

function sandboxUrl(output: string): string | undefined {
  return /sandbox ledger at (\S+)/.exec(output)?.[1];
}

function listeningUrl(output: string): string | undefined {
  return /"http":"([^"]+)"/.exec(output)?.[1];
}

async function fetchReady(url: string): Promise<true | undefined> {
  return fetch(url).then(
    (response) => (response.ok ? true : undefined),
    () => undefined,
  );
}

const limitMs = 120_000;

async function waitUntil<T>(
  subject: string,
  program: Program,
  probe: () => Promise<T | undefined> | T | undefined,
): Promise<T> {
  const end = performance.now() + limitMs;
  for (;;) {
    const probed = await probe();
    if (probed !== undefined) return probed;
    const hasExited = program.child.exitCode !== null || program.child.signalCode !== null;
    if (hasExited || performance.now() > end) throw new Error(`timeout: ${subject}\n${program.output().slice(-2_000)}`);
    await sleep(100);
  }
}
