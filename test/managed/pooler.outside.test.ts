/**
 * Readers of a managed service connect through pgbouncer in transaction mode, which encrypts its connections to the
 * server. Sessions of different readers alternate in the pooler, and each reader keeps its rows and settings.
 */
import { join } from 'node:path';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Network } from '../switch-participant/network.ts';
import { bouncerSkipReason, startBouncer } from '../support/bouncer.ts';
import { query } from '../support/database.ts';
import { needs } from '../support/skips/needs.ts';
import { providers, type Provider } from './providers.ts';
import { startTlsServer, type TlsServer } from './tls-server.ts';
import { ManagedWorld, password } from './world.ts';

const authority = join(import.meta.dirname, '../support/certificates/ca.pem');
const [provider] = providers;

let server: TlsServer;
let network: Network;
let world: ManagedWorld;
let pooler: Awaited<ReturnType<typeof startBouncer>>;
let roles: readonly string[];
const contracts = 'select contract_id as id from contracts order by 1';

beforeAll(async () => {
  if (bouncerSkipReason !== undefined) return;
  [server, network] = [await startTlsServer('embedded'), await Network.open({ seed: 5, updates: 60 })];
  world = await ManagedWorld.open(provider as Provider, server, network);
  await world.succeeds(['run', '--stop-at', 'end'], { INDEXER_HTTP_PORT: '0' });
  const rows = await world.query('select owner from explore.token_balances group by 1 order by 1 limit 2');
  roles = ['everything', ...rows.map((_, index) => `limited_${String(index)}`)];
  for (const [index, role] of roles.entries()) {
    const limit = index === 0 ? [] : ['--party', String(rows[index - 1]?.['owner'])];
    await world.succeeds(['grant-reader', role, ...limit, '--password-file', join(world.folder, 'reader')]);
  }
  const passwords = Object.fromEntries([...roles, world.provider.admin].map((role) => [role, password]));
  pooler = await startBouncer(world.url(), 'transaction', { passwords, authority });
});
afterAll(async () => {
  if (bouncerSkipReason !== undefined) return;
  await pooler[Symbol.asyncDispose]();
  world.close();
  await network.close();
  await server[Symbol.asyncDispose]();
});

function through(role: string): string {
  const url = new URL(pooler.url);
  [url.username, url.password] = [role, password];
  return url.href;
}

describe('readers behind a pooler in transaction mode', needs(bouncerSkipReason), () => {
  it('see exactly the rows that they see on a direct connection', async () => {
    const expected = await Promise.all(roles.map((role) => query(world.url(role), contracts)));
    expect(new Set(expected.map(({ length }) => length)).size).toBe(roles.length);
    const clients = await Promise.all(
      roles.map(async (role) => {
        const client = new Client({ connectionString: through(role) });
        await client.connect();
        return client;
      }),
    );
    try {
      for (let round = 0; round < 20; round += 1) {
        const found = await Promise.all(clients.map(async (client) => (await client.query(contracts)).rows));
        expect(found).toEqual(expected);
      }
    } finally {
      for (const client of clients) await client.end();
    }
  });

  it('keep search path, time limit and read-only transactions', async () => {
    const settings = `select current_setting('search_path') as path, current_setting('statement_timeout') as "limit",
      current_setting('default_transaction_read_only') as read_only`;
    for (const role of roles) {
      expect(await query(through(role), settings)).toEqual([
        { path: 'explore, typed, pqs, ledger', limit: '1min', read_only: 'on' },
      ]);
      await expect(query(through(role), 'create table t ()')).rejects.toMatchObject({ code: '25006' });
    }
  });

  it('and the indexer is refused there, with the direct address as the remedy', async () => {
    const { code, stderr, stdout } = await world.run(['check'], { DATABASE_URL: through(world.provider.admin) });
    expect(code, stderr).toBe(1);
    expect(stdout).toMatch(/STORE_POOLER_UNSUPPORTED/);
  });
});
