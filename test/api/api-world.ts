/** A demo ledger, an indexer with `/api`, and readers with tokens. */
import { randomBytes } from 'node:crypto';
import { demoInterfaces } from '../../packages/ledger-sandbox/src/demo/templates/names.ts';
import { startSandbox } from '../../packages/ledger-sandbox/src/demo/sandbox.ts';
import type { Sandbox } from '../../packages/ledger-sandbox/src/server/sandbox.ts';
import { Steps } from '../../packages/ledger-sandbox/src/demo/traffic.ts';
import { readerTokenCommand } from '../../src/cli/roles/reader-token.ts';
import { openDatabase } from '../../src/store/connection/database.ts';
import { grantReader } from '../../src/store/roles/reader-role.ts';
import { runIndexer, type IndexerRun } from '../e2e/runs/indexer-run.ts';
import { query, type TestDatabase } from '../support/database.ts';
import { playDemo } from '../support/demo-play.ts';
import { createMigratedDatabase } from '../support/migrated-database.ts';
import { runCommand } from '../support/run-command.ts';

export interface ApiRows {
  readonly offset: number;
  readonly checkpoint: number;
  readonly rows: readonly Readonly<Record<string, unknown>>[];
  readonly next: string | null;
}

export interface ApiResponse {
  readonly status: number;
  readonly type: string;
  readonly text: string;
}

/** A reader of `/api`: its role in SQL, and its token. */
export interface ApiReader {
  readonly role: string;
  readonly token: string;
}

/** Header that a proxy adds, so that the request does not count as local. */
export const forwarded = { 'x-forwarded-for': '10.0.0.1' };

export class ApiWorld implements AsyncDisposable {
  readonly sandbox: Sandbox;
  readonly database: TestDatabase;
  readonly indexer: IndexerRun;
  readonly #steps: Steps;
  readonly #roles: string[] = [];
  #microseconds = Date.UTC(2026, 0, 5, 8) * 1000;

  private constructor(sandbox: Sandbox, database: TestDatabase, indexer: IndexerRun, steps: Steps) {
    [this.sandbox, this.database, this.indexer, this.#steps] = [sandbox, database, indexer, steps];
  }

  /** @param updates number of updates, or the history of the demo, which has every kind of contract */
  static async open(updates: number | 'demo'): Promise<ApiWorld> {
    const sandbox = await startSandbox({ limits: { checkpointIntervalMs: 50 } });
    if (updates === 'demo') playDemo(sandbox.ledger, 17);
    const database = await createMigratedDatabase();
    const indexer = await runIndexer({
      LEDGER_URL: sandbox.url,
      DATABASE_URL: database.url,
      LEDGER_INTERFACES: demoInterfaces.join(','),
      INDEXER_START: 'genesis',
      INDEXER_API: 'true',
    });
    const world = new ApiWorld(sandbox, database, indexer, new Steps(sandbox.ledger, 7));
    await world.grow(updates === 'demo' ? 0 : updates);
    return world;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.indexer[Symbol.asyncDispose]();
    const logins = await this.sql('select login_name as name from ledger.reader_tokens');
    await this.sandbox.close();
    await this.database.drop();
    for (const name of [...logins.map((row) => String(row['name'])), ...this.#roles]) {
      await query(process.env['TEST_POSTGRES_URL'] ?? '', `drop role if exists "${name}"`);
    }
  }

  /** Adds updates to the ledger without waiting for them. */
  add(updates: number): void {
    for (let step = 0; step < updates; step += 1) {
      this.#microseconds += 40_000_000;
      this.#steps.step(this.#microseconds);
    }
  }

  /** Adds updates, and waits until they are stored. */
  async grow(updates: number): Promise<void> {
    this.add(updates);
    await this.indexer.reaches(this.sandbox.ledger.ledgerEnd(), 120_000);
  }

  /** Rows of a statement, by the owner or with a role. */
  sql(text: string, role?: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
    const { url } = this.database;
    return query(role === undefined ? url : `${url}?options=-c%20role%3D${role}`, text);
  }

  /** Creates a role that reads everything or, with parties, only what these see, and a token for it. */
  async reader(...parties: readonly string[]): Promise<ApiReader> {
    const role = `api_${randomBytes(4).toString('hex')}`;
    this.#roles.push(role);
    const { url } = this.database;
    const owner = openDatabase({ url, schema: 'ledger', statementTimeoutMs: 60_000, applicationName: 'test' });
    await grantReader(owner, { role, parties, password: undefined });
    await owner.close();
    const lines: string[] = [];
    const print = (line: string): number => lines.push(line);
    await runCommand(readerTokenCommand, ['create', '--role', role], { DATABASE_URL: url }, { print });
    return { role, token: lines.join('\n') };
  }

  /** Parties that see many events, but not all. */
  async parties(count: number): Promise<readonly string[]> {
    const rows = await this.sql(
      `select p as party from explore.events e cross join unnest(e.parties) p group by p
        having count(*) < (select count(*) from explore.events) / 3 order by count(*) desc, p limit ${String(count)}`,
    );
    return rows.map((row) => String(row['party']));
  }

  /** Sends a request: with a token through a proxy, or as a program on this machine. */
  async get(path: string, reader?: ApiReader, headers: Readonly<Record<string, string>> = {}): Promise<ApiResponse> {
    const sent = reader === undefined ? headers : { ...forwarded, authorization: `Bearer ${reader.token}`, ...headers };
    const response = await fetch(`${this.indexer.httpUrl}${path}`, { headers: sent });
    const type = response.headers.get('content-type') ?? '';
    return { status: response.status, type, text: await response.text() };
  }

  /** A page of rows. */
  async page(path: string, parameters: Readonly<Record<string, string>> = {}, reader?: ApiReader): Promise<ApiRows> {
    const { status, text } = await this.get(`${path}?${new URLSearchParams(parameters).toString()}`, reader);
    if (status !== 200) throw new Error(`${path}: ${String(status)} ${text}`);
    return JSON.parse(text) as ApiRows;
  }

  /** All rows, page by page. */
  async all(
    path: string,
    parameters: Readonly<Record<string, string>> = {},
    reader?: ApiReader,
  ): Promise<readonly Readonly<Record<string, unknown>>[]> {
    const rows: Readonly<Record<string, unknown>>[] = [];
    let next: string | null = null;
    do {
      const cursor: Readonly<Record<string, string>> = next === null ? {} : { cursor: next };
      const page = await this.page(path, { ...parameters, ...cursor }, reader);
      rows.push(...page.rows);
      next = page.next;
    } while (next !== null);
    return rows;
  }
}
