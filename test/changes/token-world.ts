/**
 * Sets up a ledger with many parties, an indexer and its standby, and readers of two of the parties, each with a token.
 */
import { randomBytes } from 'node:crypto';
import { request as ask } from 'node:http';
import { Writable } from 'node:stream';
import { DatabaseError } from 'pg';
import { readerTokenCommand } from '../../src/cli/roles/reader-token.ts';
import { webhookCommand } from '../../src/cli/webhooks/webhook.ts';
import { openDatabase, type Database } from '../../src/store/connection/database.ts';
import { grantReader } from '../../src/store/roles/reader-role.ts';
import type { IndexerRun } from '../e2e/runs/indexer-run.ts';
import { HistoryWorld } from '../history/history-run.ts';
import { query } from '../support/database.ts';
import { runCommand } from '../support/run-command.ts';

export interface Reader {
  readonly role: string;
  readonly party: string;
  readonly token: string;
  readonly id: string;
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: string;
}

/** Header that a proxy adds, so that the request does not count as local. */
export const forwardedHeaders = { 'x-forwarded-for': '10.0.0.1' };
export const appOrigin = 'https://app.example';

export class TokenWorld {
  readonly history: HistoryWorld;
  readonly indexer: IndexerRun;
  readonly standby: IndexerRun;
  readonly owner: Database;
  readonly #roles: string[] = [];

  private constructor(history: HistoryWorld, indexer: IndexerRun, standby: IndexerRun) {
    [this.history, this.indexer, this.standby] = [history, indexer, standby];
    this.owner = openDatabase({
      url: history.database.url,
      schema: 'ledger',
      statementTimeoutMs: 60_000,
      applicationName: 'test',
    });
  }

  static async open(): Promise<TokenWorld> {
    const history = await HistoryWorld.open(120);
    const env = { INDEXER_START: 'genesis', INDEXER_CORS_ORIGINS: appOrigin };
    const indexer = await history.run('ledger', env);
    await indexer.reaches(history.sandbox.ledger.ledgerEnd());
    return new TokenWorld(history, indexer, await history.run('ledger', env));
  }

  async close(): Promise<void> {
    await this.standby[Symbol.asyncDispose]();
    await this.indexer[Symbol.asyncDispose]();
    const logins = await this.sql('select login_name from ledger.reader_tokens');
    await this.owner.close();
    await this.history.close();
    for (const role of [...logins.map((row) => String(row['login_name'])), ...this.#roles]) {
      await query(process.env['TEST_POSTGRES_URL'] ?? '', `drop role if exists "${role}"`);
    }
  }

  sql(text: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
    return query(this.history.database.url, text);
  }

  /** The parties that see the most events. None of them sees all events. */
  async parties(count: number): Promise<readonly string[]> {
    const rows = await this.sql(
      `select p as party from explore.events e cross join unnest(e.parties) p group by p
        having count(*) < (select count(*) from explore.events) order by count(*) desc limit ${String(count)}`,
    );
    return rows.map((row) => String(row['party']));
  }

  /** Creates a role that is limited to the party. */
  async role(party: string): Promise<string> {
    const role = `reads_${randomBytes(4).toString('hex')}`;
    this.#roles.push(role);
    await grantReader(this.owner, { role, parties: [party], password: undefined });
    return role;
  }

  /** Creates a role that reads everything. */
  async roleOfAll(): Promise<string> {
    const role = `reads_${randomBytes(4).toString('hex')}`;
    await this.grantAll(role);
    return role;
  }

  async grantAll(role: string): Promise<void> {
    this.#roles.push(role);
    await grantReader(this.owner, { role, parties: [], password: undefined });
  }

  /** Tries again after a deadlock with a session that reads as this role: both lock the same tables. */
  async dropRole(role: string): Promise<void> {
    for (let remainingAttempts = 9; ; remainingAttempts -= 1) {
      try {
        await this.sql(`drop owned by "${role}"; drop role "${role}"`);
        return;
      } catch (error) {
        if (remainingAttempts === 0 || !(error instanceof DatabaseError) || error.code !== '40P01') throw error;
      }
    }
  }

  /** Creates a token with the command, as users do. */
  async token(...argv: readonly string[]): Promise<{ readonly lines: readonly string[]; readonly noted: string }> {
    const lines: string[] = [];
    let stderrText = '';
    const stderr = new Writable({
      write: (chunk: Buffer, _encoding, callback) => {
        stderrText += chunk.toString('utf8');
        callback();
      },
    });
    const env = { DATABASE_URL: this.history.database.url };
    await runCommand(readerTokenCommand, argv, env, { print: (line) => lines.push(line), stderr });
    return { lines, noted: stderrText };
  }

  /** Adds a webhook that reads as the role. */
  async webhook(role: string): Promise<void> {
    const args = ['add', 'refused', '--url', 'https://receiver.example/hook', '--role', role];
    await runCommand(webhookCommand, args, { DATABASE_URL: this.history.database.url });
  }

  async reader(party: string, ...extraArgs: readonly string[]): Promise<Reader> {
    return this.readerOf(await this.role(party), party, ...extraArgs);
  }

  async readerOf(role: string, party: string, ...extraArgs: readonly string[]): Promise<Reader> {
    const { lines, noted } = await this.token('create', '--role', role, ...extraArgs);
    const [, id = ''] = /^token (\w+)/.exec(noted) ?? [];
    return { role, party, token: lines.join('\n'), id };
  }

  /** The login role of the reader's token. */
  async loginOf({ id }: Reader): Promise<string> {
    const [row] = await this.sql(`select login_name as login from ledger.reader_tokens where id = '${id}'`);
    return String(row?.['login']);
  }

  /** Ids of changes that the role may see, in order; null for all ids. */
  async visible(role: string | null): Promise<readonly string[]> {
    const { url } = this.history.database;
    const rows = await query(
      role === null ? url : `${url}?options=-c%20role%3D${role}`,
      `select "offset" || '-' || node_id as id from explore.events order by "offset", node_id`,
    );
    return rows.map(({ id }) => String(id));
  }

  /** Sends one request. If the response is endless, returns its first part. */
  request(
    path: string,
    headers: Readonly<Record<string, string>>,
    { method = 'GET', body, of: indexerRun = this.indexer }: { method?: string; body?: unknown; of?: IndexerRun } = {},
  ): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const clientRequest = ask(`${indexerRun.httpUrl}${path}`, { method, headers }, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk;
          if (path.startsWith('/changes') && response.statusCode === 200) clientRequest.destroy();
        });
        response.once('close', () =>
          resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text }),
        );
        response.once('error', () => undefined);
      });
      clientRequest.once('error', (error) => (clientRequest.destroyed ? undefined : reject(error)));
      clientRequest.end(body === undefined ? undefined : JSON.stringify(body));
    });
  }

  /** Sends a statement to the query page through a proxy. */
  question(token: string, statement: string): Promise<Answer> {
    const headers = { ...forwardedHeaders, 'content-type': 'application/json', authorization: `Bearer ${token}` };
    return this.request('/query', headers, { method: 'POST', body: { statement } });
  }
}
