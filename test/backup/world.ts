/**
 * A stream on a packaged Postgres with everything that a backup must keep: the roles of `grant-roles`, readers, a reader
 * token, a webhook, labels, typed views and a projection of a user. The indexer is a process that connects as the
 * writer.
 */
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { demoInterfaces } from '../../packages/ledger-sandbox/src/demo/templates/names.ts';
import { startSandbox } from '../../packages/ledger-sandbox/src/demo/sandbox.ts';
import { Steps } from '../../packages/ledger-sandbox/src/demo/traffic.ts';
import type { Sandbox } from '../../packages/ledger-sandbox/src/server/sandbox.ts';
import { programInProcess } from '../cli/in-process.ts';
import { assertBuilt, startDaemon, type Daemon } from '../e2e/runs/daemon.ts';
import { query } from '../support/database.ts';
import { createServerFiles, startServer, type PackagedServer } from '../support/packaged/server.ts';
import { waitFor } from '../support/wait-for.ts';
import { startReceiver, type Receiver } from '../webhooks/receiver.ts';
import { preparePage, rolePassword as password } from './page.ts';

export const database = 'ledger';
export const indexerOptions = { LEDGER_INTERFACES: demoInterfaces.join(','), INDEXER_START: 'genesis' };
const loginKinds = ['migrator', 'writer', 'redactor', 'reader'];
const secondMicros = 1_000_000;

export class BackupWorld implements AsyncDisposable {
  readonly folder: string;
  readonly sandbox: Sandbox;
  readonly receiver: Receiver;
  /** The party of the role `wallet`. */
  readonly party: string;
  /** Token of the role `served`. */
  token = '';
  readonly #servers: PackagedServer[] = [];
  readonly #steps: Steps;
  #micros = Date.UTC(2026, 0, 5, 8) * 1000;

  private constructor(folder: string, sandbox: Sandbox, receiver: Receiver) {
    [this.folder, this.sandbox, this.receiver] = [folder, sandbox, receiver];
    this.#steps = new Steps(sandbox.ledger, 21);
    this.grow(150);
    this.party = sandbox.ledger.localParties().find((party) => party.startsWith('alice::')) ?? '';
  }

  /** A ledger with some history, and an empty folder for servers. */
  static async open(): Promise<BackupWorld> {
    assertBuilt();
    const folder = mkdtempSync(join(tmpdir(), 'ledger-indexer-backup-'));
    chmodSync(folder, 0o755);
    mkdirSync(join(folder, 'passwords'));
    await preparePage(folder);
    const sandbox = await startSandbox({ seed: 21, limits: { checkpointIntervalMs: 50 } });
    return new BackupWorld(folder, sandbox, await startReceiver());
  }

  /** Appends updates to the ledger. */
  grow(updates: number): void {
    for (let count = 0; count < updates; count += 1) {
      this.#micros += secondMicros;
      this.#steps.step(this.#micros);
    }
  }

  end(): number {
    return this.sandbox.ledger.ledgerEnd();
  }

  /** Starts an empty server in a folder of this name. */
  async emptyServer(name: string, settings: Readonly<Record<string, string>> = {}): Promise<PackagedServer> {
    await createServerFiles(join(this.folder, name));
    return this.start(name, settings);
  }

  /** Starts the server whose files are in the folder of this name. */
  async start(name: string, settings: Readonly<Record<string, string>> = {}): Promise<PackagedServer> {
    const server = await startServer(join(this.folder, name), settings);
    this.#servers.push(server);
    return server;
  }

  async stop(server: PackagedServer): Promise<void> {
    this.#servers.splice(this.#servers.indexOf(server), 1);
    await server[Symbol.asyncDispose]();
  }

  /** Options of a command or an indexer that connects as this role. */
  env(server: PackagedServer, role?: string): Record<string, string> {
    const url = role === undefined ? server.url(database) : server.url(database, role, password);
    return { LEDGER_URL: this.sandbox.url, DATABASE_URL: url, INDEXER_HTTP_PORT: '1', ...indexerOptions };
  }

  /** Runs a command to its end as this role. Resolves to its standard output. @throws Error unless it succeeds */
  async command(server: PackagedServer, role: string | undefined, ...argv: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await programInProcess(argv, this.env(server, role), this.folder);
    if (code !== 0) throw new Error(`${argv.join(' ')}: ${stderr}${stdout.slice(-2_000)}`);
    return stdout;
  }

  /** Creates the schemas and the roles on the server. */
  async prepare(server: PackagedServer): Promise<void> {
    await query(server.url('postgres'), `create database ${database}`);
    for (const kind of loginKinds) writeFileSync(join(this.folder, 'passwords', kind), password);
    const passwordFile = join(this.folder, 'passwords', 'reader');
    await this.command(server, undefined, 'migrate');
    await this.command(server, undefined, 'grant-roles', '--password-dir', join(this.folder, 'passwords'));
    await this.command(server, undefined, 'grant-reader', 'analyst', '--password-file', passwordFile);
    await this.command(server, undefined, 'grant-reader', 'served');
    const party = ['--party', this.party];
    await this.command(server, undefined, 'grant-reader', 'wallet', ...party, '--password-file', passwordFile);
    this.token = (await this.command(server, undefined, 'reader-token', 'create', '--role', 'served')).trim();
    this.receiver.name = 'kept';
    const hook = ['kept', '--url', `${this.receiver.url}/kept`, '--role', 'served', '--after', '0'];
    const added = await this.command(server, undefined, 'webhook', 'add', ...hook);
    this.receiver.secret = /whsec_\S+/.exec(added)?.[0] ?? '';
    writeFileSync(join(this.folder, 'customers.csv'), `party,label\n${this.party},Alice Ltd\n`);
    await this.command(server, 'ledger_migrator', 'labels', 'load', join(this.folder, 'customers.csv'));
    const file = join(this.folder, 'created.sql');
    const select = 'select e."offset", e.node_id, e.contract_id, e.payload from explore.events e';
    writeFileSync(file, `${select} where e.event_type = 'created' and e."offset" > :from and e."offset" <= :to`);
    const flags = ['--sql', file, '--key', 'node_id', '--role', 'ledger_reader'];
    await this.command(server, 'ledger_migrator', 'projection', 'add', 'created', ...flags);
  }

  /** Starts the indexer as the writer. @param networks where it may deliver webhooks */
  follow(server: PackagedServer, networks: 'loopback' | 'none' = 'loopback'): Daemon {
    const env = { ...indexerOptions, POSTGRES_MIGRATE: 'never', INDEXER_WEBHOOK_NETWORKS: networks };
    const databaseUrl = server.url(database, 'ledger_writer', password);
    return startDaemon({ ledgerUrl: this.sandbox.url, databaseUrl, schema: 'ledger', env });
  }

  async checkpoint(server: PackagedServer): Promise<number> {
    const [row] = await query(server.url(database), 'select checkpoint from ledger.stream');
    return Number(row?.['checkpoint'] ?? -1);
  }

  /** Waits until everything is stored, completions and the rows of projections included. */
  async caughtUp(server: PackagedServer, daemon: Daemon): Promise<void> {
    const end = String(this.end());
    const filled = `select checkpoint >= ${end} and (select bool_and(is_filled) from ledger.projections)
        and (select max(to_offset) from ledger.completion_ranges) >= ${end} as filled from ledger.stream`;
    await waitFor(
      'everything is stored',
      async () => {
        if (daemon.exit() !== undefined) throw new Error(`the indexer ended: ${daemon.output().slice(-2_000)}`);
        const [row] = await query(server.url(database), filled);
        return row?.['filled'] === true ? true : undefined;
      },
      60_000,
    );
  }

  /** Events in the history of the server, as `offset-node`. */
  async events(server: PackagedServer): Promise<readonly string[]> {
    const text = `select "offset" || '-' || node_id as place from explore.events order by "offset", node_id`;
    return (await query(server.url(database), text)).map(({ place }) => String(place));
  }

  /** Waits until the webhook has delivered every event of the server's history. */
  async delivered(server: PackagedServer): Promise<void> {
    const events = await this.events(server);
    const isComplete = (): true | undefined => {
      const taken = new Set(this.receiver.taken.map(({ place }) => place));
      return events.every((place) => taken.has(place)) ? true : undefined;
    };
    await waitFor('every event is delivered', isComplete, 60_000).catch((error: unknown) => {
      const taken = new Set(this.receiver.taken.map(({ place }) => place));
      const missing = events.filter((place) => !taken.has(place));
      throw new Error(`${String(missing.length)} events are missing, the first ${missing[0] ?? ''}`, { cause: error });
    });
  }

  /** Stops the indexer as an operator does. */
  async finish(daemon: Daemon): Promise<void> {
    daemon.signal('SIGTERM');
    expect(await daemon.exited).toEqual({ code: 0, signal: null });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const server of this.#servers) await server[Symbol.asyncDispose]();
    await this.receiver[Symbol.asyncDispose]();
    await this.sandbox.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
