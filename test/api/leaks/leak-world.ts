/**
 * `/api` of random histories with rights. Roles and tokens are created once, in a database from which each history
 * begins. Users of the participant are created for each history, with other rights each time.
 */
import { randomBytes } from 'node:crypto';
import { escapeIdentifier, type Client } from 'pg';
import { startSandbox } from '../../../packages/ledger-sandbox/src/demo/sandbox.ts';
import type { Sandbox } from '../../../packages/ledger-sandbox/src/server/sandbox.ts';
import type { Random } from '../../../packages/ledger-sandbox/src/wire/random.ts';
import { readerTokenCommand } from '../../../src/cli/roles/reader-token.ts';
import { loadConfig } from '../../../src/config/config.ts';
import { openApi } from '../../../src/indexer/api.ts';
import { openReadPools } from '../../../src/indexer/connections.ts';
import { openNodeTokens } from '../../../src/indexer/node-tokens.ts';
import { openReaderTokens } from '../../../src/indexer/reader-tokens.ts';
import { createTokenSource } from '../../../src/ledger/access/token.ts';
import { createLedgerClient } from '../../../src/ledger/api/client.ts';
import { openAccess } from '../../../src/ledger/open-access.ts';
import type { Right } from '../../../src/ledger/api/users.ts';
import { nodeRights, type NodeRights } from '../../../src/model/push/node-rights.ts';
import { CheckpointWaiters } from '../../../src/observe/health/checkpoint-waiters.ts';
import { HealthTracker } from '../../../src/observe/health/health-tracker.ts';
import { startHttpServer } from '../../../src/observe/http/http-server.ts';
import { TokenCallers } from '../../../src/observe/http/token-callers.ts';
import { createMetrics } from '../../../src/observe/metrics/metrics.ts';
import { grantReader } from '../../../src/store/roles/reader-role.ts';
import type { RoleParties } from '../../../src/store/roles/party-policies.ts';
import { storePackage } from '../../../src/store/typed/package-store.ts';
import { syncTypedViews } from '../../../src/store/typed/views.ts';
import { openSession } from '../../../src/store/write/session.ts';
import { quickPace } from '../../../src/testing/quick-pace.ts';
import { fillAll, withDatabase } from '../../projections/projected.ts';
import { packages } from '../../security/privacy-contents.ts';
import { parties, type PrivateHistory } from '../../security/privacy-history.ts';
import { storeHistory } from '../../security/privacy/store-history.ts';
import { createTestDatabase, query, type TestDatabase } from '../../support/database.ts';
import { createMigratedDatabase } from '../../support/migrated-database.ts';
import { runCommand } from '../../support/run-command.ts';
import { expiresIn, keyPair, serveJwks, token, type JwksServer, type Signer } from '../../support/tokens.ts';

const issuer = 'https://issuer.example';
const audience = 'https://daml.com/jwt/aud/participant/tested';

export interface LeakReader {
  readonly name: string;
  readonly token: string;
  readonly role: string;
  /** Parties whose data the reader may see; all data if undefined. */
  readonly parties: readonly string[] | undefined;
  /** Set for users of the participant. */
  readonly rights?: NodeRights;
}

export interface ServedHistory extends AsyncDisposable {
  readonly url: string;
  readonly database: TestDatabase;
  readonly readers: readonly LeakReader[];
}

export class LeakWorld implements AsyncDisposable {
  readonly #sandbox: Sandbox;
  readonly #keys: JwksServer;
  readonly #signer: Signer;
  readonly #template: TestDatabase;
  readonly #tokenReaders: LeakReader[] = [];
  readonly #nodeRole = `leak_${randomBytes(4).toString('hex')}`;
  #users = 0;

  private constructor(sandbox: Sandbox, keys: JwksServer, signer: Signer, template: TestDatabase) {
    [this.#sandbox, this.#keys, this.#signer, this.#template] = [sandbox, keys, signer, template];
  }

  static async open(): Promise<LeakWorld> {
    const signer = await keyPair('ES256', 'first');
    const keys = await serveJwks(signer);
    const auth = { jwksUrl: keys.url, audience, maxTokenLifetimeMs: 7_200_000 };
    const world = new LeakWorld(await startSandbox({ auth }), keys, signer, await createMigratedDatabase(['ledger']));
    await world.#prepare();
    return world;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const logins = await query(this.#template.url, 'select login_name as name from ledger.reader_tokens');
    await this.#sandbox.close();
    await this.#keys[Symbol.asyncDispose]();
    await this.#template.drop();
    const roles = [...logins.map(({ name }) => String(name)), ...this.#tokenReaders.map(({ role }) => role)];
    for (const role of [...roles, this.#nodeRole]) {
      await query(process.env['TEST_POSTGRES_URL'] ?? '', `drop role if exists ${escapeIdentifier(role)}`);
    }
  }

  async #prepare(): Promise<void> {
    const [one = '', two = '', three = ''] = parties;
    await withDatabase(this.#template.url, async (database) => {
      for (const model of packages) await storePackage(database, model);
      await syncTypedViews(database, packages);
    });
    await this.#grant(this.#nodeRole, 'session');
    for (const list of [[one], [two, three]]) {
      const role = `leak_${randomBytes(4).toString('hex')}`;
      await this.#grant(role, list);
      const lines: string[] = [];
      const env = { DATABASE_URL: this.#template.url };
      await runCommand(readerTokenCommand, ['create', '--role', role], env, { print: (line) => lines.push(line) });
      const name = `a token of ${list.join(' and ')}`;
      this.#tokenReaders.push({ name, role, token: lines.join('\n'), parties: list });
    }
  }

  async #grant(role: string, roleParties: RoleParties): Promise<void> {
    await withDatabase(this.#template.url, (owner) =>
      grantReader(owner, { role, parties: roleParties, password: roleParties === 'session' ? 'secret' : undefined }),
    );
  }

  /** Stores the history in a database of its own, and serves `/api` of it. */
  async serve(history: PrivateHistory, random: Random): Promise<ServedHistory> {
    const database = await createTestDatabase(escapeIdentifier(new URL(this.#template.url).pathname.slice(1)));
    // The rights of databases are not copied with them.
    await query(database.url, `revoke all on database ${new URL(database.url).pathname.slice(1)} from public`);
    await withDatabase(database.url, async (owner) => {
      const stream = { participantId: 'p::1220', filter: '{}', filterHash: 'f', shape: 'LEDGER_EFFECTS' } as const;
      await storeHistory(await openSession(owner, stream), history, random);
    });
    if (random.chance(0.5)) await fillAll(database.url, 20);
    const readers = [...this.#tokenReaders, ...(await this.#userReaders(random))];
    const server = await this.#listen(database);
    const dispose = async (): Promise<void> => {
      await server[Symbol.asyncDispose]();
      await database.drop();
    };
    return { url: server.url, database, readers, [Symbol.asyncDispose]: dispose };
  }

  /** Users with rights for some parties, a user without rights, and a user that may read as any party. */
  async #userReaders(random: Random): Promise<readonly LeakReader[]> {
    const some = parties.filter(() => random.chance(0.4)).slice(0, 3);
    const kinds = some.map((party): Right => {
      const kind = random.chance(0.5) ? 'CanReadAs' : 'CanActAs';
      return { kind: { [kind]: { value: { party } } } };
    });
    return [
      await this.#user(kinds, nodeRights(some, false)),
      await this.#user([], nodeRights([], false)),
      await this.#user([{ kind: { CanReadAsAnyParty: { value: {} } } }], nodeRights([], true)),
    ];
  }

  async #user(rights: readonly Right[], given: NodeRights): Promise<LeakReader> {
    this.#users += 1;
    const id = `reader-${String(this.#users)}`;
    const claims = { iss: issuer, aud: audience, exp: expiresIn(3_600_000) };
    const tokenSource = createTokenSource({
      token: await token(this.#signer, { ...claims, sub: 'participant_admin' }),
    });
    const client = { url: this.#sandbox.url, tokenSource, insecure: false, requestTimeoutMs: 10_000 };
    await createLedgerClient(client).users.create({ id, isDeactivated: false }, rights);
    const name = `a user of ${given.readsAll ? 'all parties' : given.parties.join(' and ')}`;
    const visibleParties = given.readsAll ? undefined : given.parties;
    const userToken = await token(this.#signer, { ...claims, sub: id });
    return { name, token: userToken, role: this.#nodeRole, parties: visibleParties, rights: given };
  }

  /** The parts of the indexer that answer `/api`. */
  async #listen({ url: databaseUrl }: TestDatabase): Promise<AsyncDisposable & { readonly url: string }> {
    const config = loadConfig({
      LEDGER_URL: this.#sandbox.url,
      DATABASE_URL: databaseUrl,
      INDEXER_API: 'true',
      INDEXER_NODE_TOKENS: 'true',
      INDEXER_NODE_TOKENS_ISSUER: issuer,
      INDEXER_NODE_TOKENS_AUDIENCE: audience,
      INDEXER_NODE_TOKENS_JWKS_URL: this.#keys.url,
      INDEXER_NODE_TOKENS_ROLE: this.#nodeRole,
      INDEXER_NODE_TOKENS_PASSWORD: 'secret',
    });
    const { nodeAccess } = config.indexer;
    if (nodeAccess === undefined) throw new Error('tokens of the participant are not accepted');
    const pools = openReadPools(config, databaseUrl);
    const logger = { warn: (facts: object): void => void process.stderr.write(`${JSON.stringify(facts)}\n`) };
    const access = openReaderTokens(pools.lookups, quickPace, logger);
    const ledgerAccess = await openAccess(config.ledger, new AbortController().signal);
    const nodeInput = { config, access: ledgerAccess, ledgerUrl: this.#sandbox.url };
    // The rights of a user do not change, so they are requested once.
    const pace = { ...quickPace, nodeRightsMs: 3_600_000 };
    const node = openNodeTokens(nodeAccess, { ...nodeInput, pace, logger, lookups: pools.lookups });
    const waiters = new CheckpointWaiters();
    const callers = new TokenCallers(access.tokens, node.access);
    const api = openApi(config, pools.api, callers, { waiters, version: 'test', onAnswer: () => undefined });
    const health = new HealthTracker({ version: 'test', schema: 'ledger', stalledAfterMs: 1_000 });
    const server = await startHttpServer({
      host: '127.0.0.1',
      port: 0,
      metrics: createMetrics({ version: 'test' }),
      status: () => health.status(),
      verdict: () => health.verdict(),
      waiters,
      api,
    });
    const dispose = async (): Promise<void> => {
      await server.close();
      access.close();
      node.close();
      await Promise.all(Object.values(pools).map((pool) => pool.close(500)));
    };
    return { url: server.url, [Symbol.asyncDispose]: dispose };
  }
}

/** Runs `work` in a transaction with the rights of the reader. @param client session of the owner */
export async function readAs<T>(client: Client, { role, rights }: LeakReader, work: () => Promise<T>): Promise<T> {
  await client.query(`set search_path = ledger; set time zone 'UTC'; set jit = off; begin`);
  try {
    if (rights !== undefined) {
      await client.query(
        'insert into node_sessions (transaction_id, parties, reads_all) values (pg_current_xact_id(), $1, $2)',
        [rights.parties, rights.readsAll],
      );
    }
    await client.query(`set local role ${escapeIdentifier(role)}`);
    return await work();
  } finally {
    await client.query('rollback');
  }
}
