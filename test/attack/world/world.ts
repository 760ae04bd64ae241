/**
 * The target of the attacks: an indexer that is set up as docs/how-to/secure recommends, behind a ledger with live
 * traffic. It runs as a separate process with a small heap, and logs in with the writer role that `grant-roles`
 * created. Some of its readers, with logins and tokens, are limited to a party. The others read everything.
 */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Client } from 'pg';
import { waitFor } from '../../support/wait-for.ts';
import { projectRoot, runProgram, startNode, startProgram, type ProcessResult, type Program } from './program.ts';
import { connected, openServer, type Server } from './server.ts';
import { ledgerEnd, Watcher } from './watcher.ts';

const logins = ['migrator', 'writer', 'redactor', 'reader', 'console', 'limited'] as const;
export type Login = (typeof logins)[number];

export interface UserToken {
  readonly token: string;
  readonly id: string;
  readonly role: string;
  /** Postgres login of the token. */
  readonly login: string;
}

/** Ids of an update that the limited reader may not see. */
export interface HiddenUpdate {
  readonly offset: number;
  readonly updateId: string;
  readonly commandId: string;
  readonly contractId: string;
}

export interface WorldOptions {
  readonly databaseUrl: string | undefined;
  /** Updates that the ledger adds per second. */
  readonly updatesPerSecond: number;
}

/** The same heap as in the container of docs/how-to/secure/container.md. */
const heap = ['--max-old-space-size=384'];
const longestStartMs = 240_000;

export class World implements AsyncDisposable {
  readonly server: Server;
  /** URL of a superuser. */
  readonly databaseUrl: string;
  /** Session of a superuser. */
  readonly admin: Client;
  /** Temporary folder, deleted at the end. */
  readonly folder: string;
  readonly password = randomBytes(12).toString('hex');
  readonly #sandbox: Program;
  #indexer: Program | undefined;
  ledgerUrl = '';
  /** Base URL of the HTTP endpoints of the indexer. */
  httpUrl = '';
  party = '';
  hidden: HiddenUpdate = { offset: 0, updateId: '', commandId: '', contractId: '' };
  tokens: Readonly<Record<'limited' | 'all', UserToken>> = { limited: emptyToken, all: emptyToken };
  #watcher: Watcher | undefined;

  private constructor(server: Server, databaseUrl: string, admin: Client, folder: string, sandbox: Program) {
    [this.server, this.databaseUrl, this.admin] = [server, databaseUrl, admin];
    [this.folder, this.#sandbox] = [folder, sandbox];
  }

  static async open({ databaseUrl: superuserUrl, updatesPerSecond }: WorldOptions): Promise<World> {
    const server = await openServer(superuserUrl);
    const databaseUrl = await server.createDatabase();
    const folder = await mkdtemp(join(tmpdir(), 'ledger-indexer-attack-'));
    const script = join(projectRoot, 'packages', 'ledger-sandbox', 'dist', 'main.js');
    const sandbox = startNode(script, ['--port', '0', '--updates-per-second', String(updatesPerSecond)]);
    const world = new World(server, databaseUrl, await connected(databaseUrl), folder, sandbox);
    try {
      await world.#setUp();
    } catch (error) {
      await world[Symbol.asyncDispose]();
      throw error;
    }
    return world;
  }

  get port(): number {
    return Number(new URL(this.httpUrl).port);
  }

  get indexer(): Program {
    if (this.#indexer === undefined) throw new Error('the indexer was not started');
    return this.#indexer;
  }

  get watcher(): Watcher {
    if (this.#watcher === undefined) throw new Error('the watcher was not started');
    return this.#watcher;
  }

  /** Name of the superuser, which differs between servers. */
  get superuser(): string {
    return decodeURIComponent(new URL(this.databaseUrl).username);
  }

  role(login: Login | 'owner'): string {
    return `${this.server.rolePrefix}_${login}`;
  }

  urlOf(login: Login): string {
    return this.urlAs(this.role(login), this.password);
  }

  urlAs(user: string, password: string): string {
    const url = new URL(this.databaseUrl);
    [url.username, url.password] = [user, password];
    return url.href;
  }

  /** Opens a session of the login. The caller closes it. */
  session(login: Login): Promise<Client> {
    return connected(this.urlOf(login), `attacker ${login}`);
  }

  /** Runs a command of the program, by default as the superuser. */
  command(argv: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<ProcessResult> {
    return runProgram(argv, { env: { DATABASE_URL: this.databaseUrl, ...env }, cwd: this.folder });
  }

  /** Runs a command that must succeed. */
  async succeed(argv: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<ProcessResult> {
    const commandResult = await this.command(argv, env);
    if (commandResult.code !== 0)
      throw new Error(
        `${argv.join(' ')} ended with ${commandResult.code}: ${commandResult.stderr}${commandResult.stdout}`,
      );
    return commandResult;
  }

  /** Creates a reader role without login, and a token for it. */
  async newToken(role: string, parties: readonly string[], ...extraArgs: readonly string[]): Promise<UserToken> {
    await this.succeed(['grant-reader', role, ...parties.flatMap((party) => ['--party', party])]);
    const { stdout, stderr } = await this.succeed(['reader-token', 'create', '--role', role, ...extraArgs]);
    const [, id = ''] = /token (\w+)/.exec(stderr) ?? [];
    const { rows } = await this.admin.query<{ login: string }>(
      'select login_name as login from ledger.reader_tokens order by created_at desc limit 1',
    );
    return { token: stdout.trim(), id, role, login: rows[0]?.login ?? '' };
  }

  /** Stops and starts the indexer. */
  async restart(): Promise<void> {
    await this.indexer.kill();
    await this.#startIndexer();
  }

  /** Starts the indexer again if it has ended. Returns whether it had ended. */
  async revive(): Promise<boolean> {
    if (this.indexer.exit() === undefined) return false;
    await this.#startIndexer();
    return true;
  }

  async reachesLedgerEnd(): Promise<void> {
    const end = await ledgerEnd(this.ledgerUrl);
    const isStored = async (): Promise<true | undefined> => {
      const { rows } = await this.admin.query<{ at: string | null }>('select checkpoint as at from ledger.stream');
      return Number(rows[0]?.at ?? -1) >= end ? true : undefined;
    };
    await waitFor(`the indexer has stored offset ${String(end)}`, isStored, longestStartMs);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#watcher?.[Symbol.asyncDispose]();
    await this.#indexer?.kill();
    await this.#sandbox.kill();
    await this.admin.end();
    await this.server[Symbol.asyncDispose]();
    await rm(this.folder, { recursive: true, force: true });
  }

  async #setUp(): Promise<void> {
    for (const login of logins) await writeFile(join(this.folder, login), this.password, { mode: 0o600 });
    await this.succeed(['migrate']);
    await this.succeed(['grant-roles', '--prefix', this.server.rolePrefix, '--password-dir', this.folder]);
    await this.succeed(['grant-reader', this.role('console'), '--password-file', 'console']);
    [, this.ledgerUrl = ''] = await this.#sandbox.waitForOutput(/sandbox ledger at (\S+)/);
    await this.#startIndexer();
    await this.reachesLedgerEnd();
    await this.succeed(['views', 'rebuild'], { DATABASE_URL: this.urlOf('migrator') });
    await this.#limitReaders();
    this.#watcher = new Watcher(this.databaseUrl, this.ledgerUrl, () => ({ url: this.httpUrl, pid: this.indexer.pid }));
  }

  async #startIndexer(): Promise<void> {
    this.#indexer = startProgram([], {
      flags: heap,
      cwd: this.folder,
      env: {
        LEDGER_URL: this.ledgerUrl,
        DATABASE_URL: this.urlOf('writer'),
        INDEXER_QUERY_PAGE_DATABASE_URL: this.urlOf('console'),
        POSTGRES_MIGRATE: 'never',
        INDEXER_START: 'genesis',
        INDEXER_HTTP_PORT: this.httpUrl === '' ? '0' : String(this.port),
        INDEXER_LOG_FORMAT: 'json',
        INDEXER_CORS_ORIGINS: 'https://app.example',
      },
    });
    [, this.httpUrl = ''] = await this.#indexer.waitForOutput(/"http":"(http:[^"]+)"/);
  }

  /** Chooses a party for the limited readers that sees many events, but at most 70 % of them. */
  async #limitReaders(): Promise<void> {
    const { rows } = await this.admin.query<{ party: string }>(
      `select p as party from explore.events e cross join unnest(e.parties) p group by p
        having count(*) < (select count(*) * 0.7 from explore.events) order by count(*) desc limit 1`,
    );
    this.party = rows[0]?.party ?? '';
    await this.succeed(['grant-reader', this.role('limited'), '--party', this.party, '--password-file', 'limited']);
    const [limitedToken, allToken] = ['tl', 'ta'].map((name) => `${this.server.rolePrefix}_${name}`);
    this.tokens = {
      limited: await this.newToken(limitedToken ?? '', [this.party]),
      all: await this.newToken(allToken ?? '', []),
    };
    this.hidden = await this.#hiddenUpdate(limitedToken ?? '');
  }

  async #hiddenUpdate(role: string): Promise<HiddenUpdate> {
    const watcherClient = await connected(this.databaseUrl);
    await watcherClient.query(`set role ${role}`);
    const visibleRows = await watcherClient.query<{ offset: string }>('select "offset" from ledger.updates');
    await watcherClient.end();
    const { rows } = await this.admin.query<HiddenUpdate>(
      `select u."offset"::int as "offset", u.update_id as "updateId", u.command_id as "commandId", c.contract_id as "contractId"
         from explore.contracts c join explore.updates u on u."offset" = c.created_at_offset
        where u.command_id <> '' and not u."offset" = any($1) order by 1 desc offset 20 limit 1`,
      [visibleRows.rows.map(({ offset }) => offset)],
    );
    const [hiddenRow] = rows;
    if (hiddenRow === undefined) throw new Error('the limited reader sees every update: the history is too short');
    return hiddenRow;
  }
}

const emptyToken: UserToken = { token: '', id: '', role: '', login: '' };
