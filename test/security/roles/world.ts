/**
 * A stream that was indexed by the writer that `grant-roles` creates, and a login for each role. Used to test the
 * rights of each role.
 */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DatabaseRole } from '../../../src/cli/command-line/least-roles.ts';
import { programInProcess } from '../../cli/in-process.ts';
import type { ProcessResult } from '../../cli/program.ts';
import { runIndexer, type IndexerRun } from '../../e2e/runs/indexer-run.ts';
import { Network } from '../../switch-participant/network.ts';
import { createTestDatabase, query, type TestDatabase } from '../../support/database.ts';
import { waitFor } from '../../support/wait-for.ts';

/** Role of a login. "any login" is a role without rights. */
export type Login = Exclude<DatabaseRole, 'token'>;
type Variables = Readonly<Record<string, string>>;

/** Roles with fewer rights than the key; all of them must fail. */
export const includedLogins: Readonly<Record<Login, readonly Login[]>> = {
  'any login': [],
  reader: ['any login'],
  redactor: ['any login', 'reader', 'writer'],
  writer: ['any login', 'reader', 'redactor'],
  migrator: ['any login', 'reader', 'redactor', 'writer'],
  administrator: ['any login', 'reader', 'redactor', 'writer', 'migrator'],
};

/** Text of the error that roles with fewer rights get, by the least role of the feature. */
export const names: Readonly<Record<Login, RegExp>> = {
  'any login': /never/,
  reader: /grant-reader|usage on schema "ledger"/,
  redactor: /connect as the redactor of `ledger-indexer grant-roles`/,
  writer: /as the writer (?:role )?of `ledger-indexer grant-roles`|usage on schema "ledger"/,
  migrator: /the migrator of|as the migrator|create on database/,
  administrator: /connect as an administrator of the database/,
};

const password = 'secret';
const withPassword = ['migrator', 'writer', 'redactor', 'reader'] as const;

export class RolesWorld implements AsyncDisposable {
  readonly network: Network;
  readonly database: TestDatabase;
  readonly folder = mkdtempSync(join(tmpdir(), 'least-roles-'));
  readonly prefix = `least_${randomBytes(4).toString('hex')}`;
  /** A reader role that does not log in, for tokens and webhooks. */
  readonly served = `${this.prefix}_served`;
  /** Filter and participant in the configuration of every command. */
  settings: Variables;

  private constructor(network: Network, database: TestDatabase) {
    this.network = network;
    this.database = database;
    this.settings = { ...this.participant(0), LEDGER_INTERFACES: 'tokens' };
  }

  /** A migrated database with its roles, and a ledger with some history. Nothing is indexed yet. */
  static async open(): Promise<RolesWorld> {
    const world = new RolesWorld(await Network.open({ seed: 5, updates: 80 }), await createTestDatabase());
    for (const kind of withPassword) writeFileSync(join(world.folder, kind), password);
    await world.succeeds('administrator', ['migrate']);
    await world.succeeds('administrator', ['grant-roles', ...world.named, '--password-dir', world.folder]);
    await world.query(`create role ${world.prefix}_none login password '${password}'`);
    return world;
  }

  /** Arguments of `grant-roles`. */
  get named(): readonly string[] {
    return ['--prefix', this.prefix];
  }

  participant(index: number): Variables {
    return { LEDGER_URL: this.network.participants[index]?.url ?? '' };
  }

  url(login: Login): string {
    const url = new URL(this.database.url);
    if (login === 'administrator') return url.href;
    url.username = `${this.prefix}_${login === 'any login' ? 'none' : login}`;
    url.password = password;
    return url.href;
  }

  env(login: Login): Record<string, string> {
    return {
      DATABASE_URL: this.url(login),
      POSTGRES_MIGRATE: 'never',
      INDEXER_START: 'genesis',
      // No server listens on this port, so `status` reads the database.
      INDEXER_HTTP_PORT: '1',
      ...this.settings,
    };
  }

  /** Runs one statement as the administrator. */
  query(text: string): Promise<readonly Record<string, unknown>[]> {
    return query(this.database.url, text);
  }

  /** Runs a command as this login. */
  run(login: Login, argv: readonly string[], env: Variables = {}): Promise<ProcessResult> {
    return programInProcess(argv, { ...this.env(login), ...env }, this.folder);
  }

  async succeeds(login: Login, argv: readonly string[], env: Variables = {}): Promise<ProcessResult> {
    const commandResult = await this.run(login, argv, env);
    if (commandResult.code !== 0)
      throw new Error(`${argv.join(' ')} as ${login}: ${commandResult.stderr}${commandResult.stdout.slice(-2_000)}`);
    return commandResult;
  }

  /** Starts an indexer and waits until it is live. */
  async live(login: Login, env: Variables = {}): Promise<IndexerRun> {
    const indexer = await runIndexer({ ...this.env(login), INDEXER_HTTP_PORT: '0', ...env });
    await waitFor(`the indexer is live as ${login}`, async () =>
      (await indexer.status()).state === 'live' ? true : undefined,
    ).catch((error: unknown) => {
      throw new Error(indexer.log.slice(-5).join(''), { cause: error });
    });
    return indexer;
  }

  /** Ledger end of a participant. */
  end(index = 0): number {
    return this.network.participants[index]?.ledger.ledgerEnd() ?? 0;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.network.close();
    rmSync(this.folder, { recursive: true });
    await this.database.drop();
    const server = process.env['TEST_POSTGRES_URL'] ?? '';
    const ownRolesSql = `select rolname from pg_roles where rolname like '${this.prefix}\\_%'`;
    for (const { rolname } of await query(server, ownRolesSql)) await query(server, `drop role "${String(rolname)}"`);
  }
}
