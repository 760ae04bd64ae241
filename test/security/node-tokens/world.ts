/**
 * A participant with users, an issuer whose keys are published over HTTP, and an indexer that accepts tokens of the
 * participant.
 */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { grantReaderCommand } from '../../../src/cli/roles/grant-reader.ts';
import { grantRolesCommand } from '../../../src/cli/roles/grant-roles.ts';
import { createTokenSource } from '../../../src/ledger/access/token.ts';
import { createLedgerClient } from '../../../src/ledger/api/client.ts';
import type { Right, UserCalls } from '../../../src/ledger/api/users.ts';
import { openDatabase } from '../../../src/store/connection/database.ts';
import { grantReader } from '../../../src/store/roles/reader-role.ts';
import type { IndexerRun } from '../../e2e/runs/indexer-run.ts';
import { HistoryWorld } from '../../history/history-run.ts';
import { query } from '../../support/database.ts';
import { runCommand } from '../../support/run-command.ts';
import { expiresIn, keyPair, serveJwks, token, type JwksServer, type Signer } from '../../support/tokens.ts';
import { listen, type ReceivedEvents } from '../../changes/listener.ts';

const issuer = 'https://issuer.example';
export const audience = 'https://daml.com/jwt/aud/participant/tested';
/** Header that a proxy adds, so that the request does not count as local. */
const forwardedHeaders = { 'x-forwarded-for': '10.0.0.1' };

export interface Answer {
  readonly status: number;
  readonly text: string;
}

export function canReadAs(party: string): Right {
  return { kind: { CanReadAs: { value: { party } } } };
}

/** Runs the command, as an operator does. @param password undefined if it stays the same */
async function grant(databaseUrl: string, role: string, password?: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'node-world-'));
  const passwordFile = join(folder, 'password');
  if (password !== undefined) await writeFile(passwordFile, password);
  const withPassword = password === undefined ? [] : ['--password-file', passwordFile];
  await runCommand(grantReaderCommand, [role, '--node-tokens', ...withPassword], { DATABASE_URL: databaseUrl });
  await rm(folder, { recursive: true });
}

/** Creates the roles of `grant-roles`, and returns the URL of the writer. */
async function writerUrl(databaseUrl: string, prefix: string, password: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'node-world-'));
  await writeFile(join(folder, 'writer'), password);
  const args = ['--prefix', prefix, '--password-dir', folder];
  await runCommand(grantRolesCommand, args, { DATABASE_URL: databaseUrl });
  await rm(folder, { recursive: true });
  const url = new URL(databaseUrl);
  [url.username, url.password] = [`${prefix}_writer`, password];
  return url.href;
}

export class NodeWorld implements AsyncDisposable {
  readonly history: HistoryWorld;
  readonly keys: JwksServer;
  readonly signer: Signer;
  readonly indexer: IndexerRun;
  readonly role: string;
  readonly users: UserCalls;
  /** Variables of the indexer. */
  readonly env: Readonly<Record<string, string>>;
  readonly #listeners: ReceivedEvents[] = [];
  readonly #roles: string[] = [];

  private constructor(parts: Pick<NodeWorld, 'history' | 'keys' | 'signer' | 'indexer' | 'role' | 'users' | 'env'>) {
    ({ history: this.history, keys: this.keys, signer: this.signer } = parts);
    ({ indexer: this.indexer, role: this.role, users: this.users, env: this.env } = parts);
  }

  /** @param isWriter whether the indexer connects as the writer of `grant-roles`, which owns nothing */
  static async open(isWriter = false): Promise<NodeWorld> {
    const signer = await keyPair('ES256', 'first');
    const keys = await serveJwks(signer);
    const rights = [{ kind: 'CanReadAsAnyParty' }] as const;
    const auth = { jwksUrl: keys.url, audience, maxTokenLifetimeMs: 7_200_000, users: [{ id: 'indexer', rights }] };
    const history = await HistoryWorld.open(120, { auth });
    const role = `node_${randomBytes(4).toString('hex')}`;
    const password = randomBytes(12).toString('hex');
    const { url } = history.database;
    const databaseUrl = isWriter ? await writerUrl(url, role, password) : url;
    await grant(url, role, password);
    const claims = { iss: issuer, aud: audience, exp: expiresIn(3_600_000) };
    const env = {
      DATABASE_URL: databaseUrl,
      LEDGER_TOKEN: await token(signer, { ...claims, sub: 'indexer' }),
      INDEXER_START: 'genesis',
      INDEXER_API: 'true',
      INDEXER_NODE_TOKENS: 'true',
      INDEXER_NODE_TOKENS_ISSUER: issuer,
      INDEXER_NODE_TOKENS_AUDIENCE: audience,
      INDEXER_NODE_TOKENS_JWKS_URL: keys.url,
      INDEXER_NODE_TOKENS_ROLE: role,
      INDEXER_NODE_TOKENS_PASSWORD: password,
    };
    const indexer = await history.run('ledger', env);
    await indexer.reaches(history.sandbox.ledger.ledgerEnd());
    const adminToken = await token(signer, { ...claims, sub: 'participant_admin' });
    const tokenSource = createTokenSource({ token: adminToken });
    const client = { url: history.sandbox.url, tokenSource, insecure: false, requestTimeoutMs: 10_000 };
    const { users } = createLedgerClient(client);
    return new NodeWorld({ history, keys, signer, indexer, role, users, env: history.env('ledger', env) });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const listener of this.#listeners) listener.close();
    await this.indexer[Symbol.asyncDispose]();
    await this.history.close();
    await this.keys[Symbol.asyncDispose]();
    const kinds = ['owner', 'migrator', 'writer', 'redactor', 'reader'].map((kind) => `${this.role}_${kind}`);
    for (const role of [this.role, ...kinds, ...this.#roles]) {
      await query(process.env['TEST_POSTGRES_URL'] ?? '', `drop role if exists "${role}"`);
    }
  }

  /** Grants the role again. */
  async grant(): Promise<void> {
    await this.sql(`revoke insert on ledger.live from "${this.role}"`);
    await grant(this.history.database.url, this.role);
  }

  sql(text: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
    return query(this.history.database.url, text);
  }

  /** The parties that see the most events. None of them sees all events. */
  async parties(count: number): Promise<readonly string[]> {
    const rows = await this.sql(
      `select p as party from explore.events e cross join unnest(e.parties) p group by p
        having count(*) < (select count(*) from explore.events) order by count(*) desc, p limit ${String(count)}`,
    );
    return rows.map((row) => String(row['party']));
  }

  /** Creates a user with these rights, and returns its token. */
  async user(id: string, ...rights: readonly Right[]): Promise<string> {
    await this.users.create({ id, isDeactivated: false }, rights);
    return this.tokenOf(id);
  }

  /** A token of the user. The given claims replace the usual ones. */
  tokenOf(id: string, claims: Readonly<Record<string, unknown>> = {}, signer = this.signer): Promise<string> {
    return token(signer, { iss: issuer, aud: audience, exp: expiresIn(60_000), sub: id, ...claims });
  }

  /** Creates a role of `grant-reader`, limited to these parties if there are any. */
  async reader(...parties: readonly string[]): Promise<string> {
    const role = `node_${randomBytes(4).toString('hex')}`;
    const { url } = this.history.database;
    const owner = openDatabase({ url, schema: 'ledger', statementTimeoutMs: 60_000, applicationName: 'test' });
    await grantReader(owner, { role, parties, password: undefined });
    await owner.close();
    this.#roles.push(role);
    return role;
  }

  /** Runs a statement as a role. */
  sqlAs(role: string, text: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
    return query(`${this.history.database.url}?options=-c%20role%3D${role}`, text);
  }

  /** Ids of the changes that a role of `grant-reader --party` with these parties sees, in order. */
  async visible(...parties: readonly string[]): Promise<readonly string[]> {
    const rows = await this.sqlAs(
      await this.reader(...parties),
      `select "offset" || '-' || node_id as id from explore.events order by "offset", node_id`,
    );
    return rows.map(({ id }) => String(id));
  }

  listen(sentToken: string, search = '?after=0'): ReceivedEvents {
    const headers = { ...forwardedHeaders, authorization: `Bearer ${sentToken}` };
    const listener = listen(`${this.indexer.httpUrl}/changes${search}`, { headers });
    this.#listeners.push(listener);
    return listener;
  }

  /** Status of a request for changes, without reading them. */
  async changesStatus(sentToken: string): Promise<Answer> {
    const stop = new AbortController();
    const headers = { ...forwardedHeaders, authorization: `Bearer ${sentToken}` };
    const response = await fetch(`${this.indexer.httpUrl}/changes`, { headers, signal: stop.signal });
    const text = response.ok ? '' : await response.text();
    stop.abort();
    return { status: response.status, text };
  }

  /** Sends a statement to the query page. */
  async ask(sentToken: string, statement: string, path = '/query', field = 'statement'): Promise<Answer> {
    const headers = {
      ...forwardedHeaders,
      'content-type': 'application/json',
      authorization: `Bearer ${sentToken}`,
    };
    const body = JSON.stringify({ [field]: statement });
    const response = await fetch(`${this.indexer.httpUrl}${path}`, { method: 'POST', headers, body });
    return { status: response.status, text: await response.text() };
  }

  /** The rows of a statement. */
  async rows(sentToken: string, statement: string): Promise<readonly (readonly (string | null)[])[]> {
    const { status, text } = await this.ask(sentToken, statement);
    if (status !== 200) throw new Error(`${String(status)}: ${text}`);
    return (JSON.parse(text) as { rows: (string | null)[][] }).rows;
  }
}
