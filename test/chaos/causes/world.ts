/**
 * The environment of one indexer: a ledger with traffic and its own Postgres server, each behind a gateway that can
 * fail.
 */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from 'pg';
import {
  startEmbeddedPostgres,
  type EmbeddedPostgres,
} from '../../../packages/embedded-postgres/src/embedded-postgres.ts';
import { startSandbox } from '../../../packages/ledger-sandbox/src/demo/sandbox.ts';
import { startTraffic } from '../../../packages/ledger-sandbox/src/demo/traffic.ts';
import type { Sandbox, SandboxOptions } from '../../../packages/ledger-sandbox/src/server/sandbox.ts';
import { startDaemon, type Daemon } from '../../e2e/runs/daemon.ts';
import { waitFor } from '../../support/wait-for.ts';
import { Gateway, type Certificate } from './gateway.ts';

export interface WorldOptions {
  readonly sandbox?: (world: CauseWorld) => Promise<SandboxOptions> | SandboxOptions;
  /** Certificate of the gateway in front of the ledger, which then uses TLS. */
  readonly certificate?: Certificate;
  /** Settings of the Postgres server. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Prepares the server before the database is created; returns options for `create database`. */
  readonly prepare?: (world: CauseWorld) => Promise<string>;
  /** Adds a proxy between the indexer's gateway and the server. */
  readonly pooler?: (world: CauseWorld) => Promise<void>;
  /** Additional environment variables of the indexer. */
  readonly env?: (world: CauseWorld) => Promise<Readonly<Record<string, string>>> | Readonly<Record<string, string>>;
}

export const role = 'indexer';
export const password = 'role-secret';
const databaseName = 'indexed';
const liveLimitMs = 90_000;
const updatesPerSecond = 5;
/** The factor of `faster-clock.mjs`. */
export const acceleration = 10;

/** Node loads this file before the program. It is not compiled, so it is also searched for in the sources. */
const clock = ['./faster-clock.mjs', '../../../../../test/chaos/causes/faster-clock.mjs']
  .map((path) => fileURLToPath(new URL(path, import.meta.url)))
  .find((path) => existsSync(path));

export class CauseWorld implements AsyncDisposable {
  readonly folder = mkdtempSync(join(tmpdir(), 'ledger-indexer-cause-'));
  /** Cleanup steps of the world, run in reverse order. */
  readonly closing: (() => unknown)[] = [];
  sandbox!: Sandbox;
  gateway!: Gateway;
  postgres!: EmbeddedPostgres;
  /** Gateway in front of the Postgres server, through which the indexer connects. */
  databaseGateway!: Gateway;
  daemon!: Daemon;
  http = '';
  readonly #settings: Readonly<Record<string, string>>;
  readonly #openedAt = performance.now();
  #acceleratedAt: number | undefined;

  private constructor(settings: Readonly<Record<string, string>> = {}) {
    this.#settings = { fsync: 'off', shared_buffers: '32MB', max_connections: '40', ...settings };
  }

  /** Opens the servers and starts an indexer; resolves when the indexer is ready. */
  static async open(options: WorldOptions = {}): Promise<CauseWorld> {
    const world = new CauseWorld(options.settings);
    try {
      await world.#openServers(options);
      await world.#openIndexer(options);
      return world;
    } catch (error) {
      await world[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Seconds since the world was opened, by the clock of the indexer. */
  seconds(): number {
    const now = performance.now();
    const acceleratedMs = this.#acceleratedAt === undefined ? 0 : now - this.#acceleratedAt;
    return (now - this.#openedAt + acceleratedMs * (acceleration - 1)) / 1000;
  }

  /** Makes the clocks and timers of the indexer run ten times faster. */
  accelerate(): void {
    this.#acceleratedAt = performance.now();
    this.daemon.signal('SIGUSR2');
  }

  /** Runs a statement as the administrator. @param database where it runs; by default the database of the indexer */
  async sql(text: string, database = databaseName): Promise<readonly Record<string, unknown>[]> {
    const client = await this.client(database);
    try {
      return (await client.query<Record<string, unknown>>(text)).rows;
    } finally {
      await client.end();
    }
  }

  /** URL of the database for the role of the indexer. @param port of the server, or of the proxy in front of it */
  urlOfRole(port: number): string {
    return urlAt(this.postgres.url, { path: databaseName, port, role });
  }

  /** Opens a session of the administrator that bypasses the gateway. */
  async client(database = databaseName): Promise<Client> {
    const client = new Client({ connectionString: urlAt(this.postgres.url, { path: database }) });
    client.on('error', () => undefined);
    await client.connect();
    return client;
  }

  /** Ends every session of the indexer. */
  async endSessions(): Promise<void> {
    await this.sql(`select pg_terminate_backend(pid) from pg_stat_activity where usename = '${role}'`, 'postgres');
  }

  async stopServer(): Promise<void> {
    await this.postgres.stop();
  }

  /** Starts the server on the same port. @param settings replace the previous settings */
  async startServer(settings = this.#settings): Promise<void> {
    const port = this.postgres.port;
    this.postgres = await startEmbeddedPostgres({ dataDir: join(this.folder, 'postgres'), settings, port });
  }

  /** Runs the cleanup steps. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.daemon?.kill();
    for (const close of this.closing.toReversed()) await close();
    await this.databaseGateway?.[Symbol.asyncDispose]();
    await this.gateway?.[Symbol.asyncDispose]();
    await this.sandbox?.close();
    await this.postgres?.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }

  async #openServers({ sandbox, certificate, prepare }: WorldOptions): Promise<void> {
    this.sandbox = await startSandbox({ seed: 1, limits: { checkpointIntervalMs: 500 }, ...(await sandbox?.(this)) });
    const traffic = startTraffic(this.sandbox.ledger, { seed: 1, updatesPerSecond, history: 50 });
    this.closing.push(() => traffic.stop());
    this.gateway = await Gateway.before(Number(new URL(this.sandbox.url).port), certificate);
    const dataDir = join(this.folder, 'postgres');
    this.postgres = await startEmbeddedPostgres({ dataDir, settings: this.#settings });
    this.databaseGateway = await Gateway.before(this.postgres.port);
    await this.sql(`create role ${role} login password '${password}'`, 'postgres');
    const args = await prepare?.(this);
    await this.sql(`create database ${databaseName} owner ${role} ${args ?? ''}`, 'postgres');
  }

  async #openIndexer({ certificate, pooler, env }: WorldOptions): Promise<void> {
    await pooler?.(this);
    this.daemon = startDaemon({
      ledgerUrl: `${certificate === undefined ? 'http' : 'https'}://127.0.0.1:${String(this.gateway.port)}`,
      databaseUrl: this.urlOfRole(this.databaseGateway.port),
      schema: 'ledger',
      env: {
        NODE_OPTIONS: `--import ${clock ?? ''}`,
        // Six seconds on the accelerated clock.
        INDEXER_LEASE: '60s',
        INDEXER_RETRY_MAX_DELAY: '30s',
        ...(await env?.(this)),
      },
    });
    this.http = await this.daemon.http();
    const isReady = async (): Promise<true | undefined> => ((await fetch(`${this.http}/readyz`)).ok ? true : undefined);
    await waitFor('the indexer is ready', isReady, liveLimitMs).catch((error: unknown) => {
      throw new Error(this.daemon.output().slice(-2_000), { cause: error });
    });
  }
}

function urlAt(url: string, to: { readonly path: string; readonly port?: number; readonly role?: string }): string {
  const databaseUrl = new URL(url);
  databaseUrl.pathname = `/${to.path}`;
  if (to.port !== undefined) databaseUrl.port = String(to.port);
  if (to.role !== undefined) {
    databaseUrl.username = to.role;
    databaseUrl.password = encodeURIComponent(password);
  }
  return databaseUrl.href;
}
