/** Runs every command as the administrator of each managed service. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { commands } from '../../src/cli/commands.ts';
import { Network } from '../switch-participant/network.ts';
import { query } from '../support/database.ts';
import { startReceiver } from '../webhooks/receiver.ts';
import {
  changingCommands,
  deletingCommands,
  readingCommands,
  roleCommands,
  withoutDatabase,
  type CommandLine,
  type HistoryFacts,
} from './commands.ts';
import { providers } from './providers.ts';
import { startTlsServer, type TlsServer } from './tls-server.ts';
import { ManagedWorld } from './world.ts';

interface Outcome {
  readonly name: string;
  readonly state: string;
  readonly found: string;
  readonly fix?: string;
}

/** Defines the tests for one kind of server. */
export function testManagedServices(kind: 'embedded' | 'packaged'): void {
  let server: TlsServer;
  let network: Network;
  beforeAll(async () => {
    [server, network] = [await startTlsServer(kind), await Network.open({ seed: 5, updates: 60 })];
  });
  afterAll(async () => {
    await network.close();
    await server[Symbol.asyncDispose]();
  });

  describe.each(providers)('the administrator of $name', (provider) => {
    let world: ManagedWorld;
    let facts: HistoryFacts;
    const used = new Set<string>();
    beforeAll(async () => {
      world = await ManagedWorld.open(provider, server, network);
    });
    afterAll(() => world.close());

    async function runAll(lines: readonly CommandLine[]): Promise<void> {
      for (const { argv, env } of lines) {
        used.add(argv[0] ?? '');
        await world.succeeds(argv, env);
      }
    }

    it('is no superuser, may read no file of the server, and must encrypt its connection', async () => {
      const plain = new URL(world.url());
      plain.search = '';
      await expect(query(plain.href, 'select 1')).rejects.toThrow(/no encryption|no pg_hba.conf entry/);
      for (const statement of [
        `alter system set max_wal_size = '8GB'`,
        `select pg_read_file('PG_VERSION')`,
        `copy (select 1) to program 'true'`,
        'create role another superuser',
        `set temp_file_limit = '1GB'`,
      ]) {
        await expect(world.query(statement), statement).rejects.toMatchObject({ code: '42501' });
      }
    });

    it('indexes, and check fails at nothing before and afterwards', async () => {
      await runAll([{ argv: ['check', '--timeout', '60'] }]);
      const [first] = network.participants;
      if (first !== undefined)
        first.faults.unknownKind = { path: '/v2/updates', atOffset: first.ledger.ledgerEnd(), times: 1 };
      const env = { INDEXER_HTTP_PORT: '0', INDEXER_QUARANTINE: 'true', INDEXER_UNKNOWN_UPDATES: 'park' };
      await runAll([{ argv: ['run', '--stop-at', 'end'], env }]);
      const [row] = await world.query(
        `select (select contract_id from explore.contracts where not is_active limit 1) as archived,
                (select owner from explore.token_balances limit 1) as party,
                (select max("offset") from ledger.updates) as "end",
                (select min("offset") + 20 from ledger.updates) as middle`,
      );
      const { archived, party, end, middle } = row ?? {};
      facts = { archived: String(archived), party: String(party), end: String(end), middle: String(middle) };
    });

    it('runs every command that reads', async () => {
      await runAll(readingCommands(world, facts));
    });

    it('limits a reader to parties as long as it owns the tables and no other role writes', async () => {
      const role = `${world.prefix}_limited`;
      const flags = ['--party', facts.party, '--password-file', `${world.folder}/reader`];
      await runAll([{ argv: ['grant-reader', role, ...flags] }]);
      const count = async (url: string): Promise<number> =>
        Number((await query(url, 'select count(*)::int as n from explore.contracts'))[0]?.['n']);
      expect(await count(world.url(role))).toBeGreaterThan(0);
      expect(await count(world.url(role))).toBeLessThan(await count(world.url()));
      if (!world.mayBypass)
        await world.query(`grant ${role} to current_user; drop owned by ${role}; drop role ${role}`);
    });

    it('runs every command about roles, and a refused limit says what to do instead', async () => {
      await runAll(roleCommands(world));
      const { code, stderr } = await world.run(['grant-reader', `${world.prefix}_second`, '--party', facts.party]);
      if (world.mayBypass) return expect(code, stderr).toBe(0);
      expect(stderr).toMatch(/GRANT_READER_REFUSED: a role other than the owner may insert/);
      expect(stderr).toMatch(/what to do: let the indexer connect as the owner of the tables/);
    });

    it('gets warnings of check that it can act on without a superuser', async () => {
      const { checks } = JSON.parse(await world.succeeds(['check', '--json', '--timeout', '60'])) as {
        readonly checks: readonly Outcome[];
      };
      expect(checks.filter(({ state }) => state === 'fail')).toEqual([]);
      for (const { name, state, fix = '' } of checks) {
        if (state === 'warn' && fix.includes('superuser')) expect(fix, name).toMatch(/managed service|, or /);
      }
    });

    it('runs the indexer as the writer of grant-roles, which delivers webhooks and serves tokens', async () => {
      await using receiver = await startReceiver();
      receiver.name = 'sent';
      const hook = ['webhook', 'add', 'sent', '--url', `${receiver.url}/sent`, '--role', `${world.prefix}_served`];
      receiver.secret = /whsec_\S+/.exec(await world.succeeds([...hook, '--after', facts.middle]))?.[0] ?? '';
      const env = { INDEXER_WEBHOOK_NETWORKS: 'loopback' };
      await runAll([{ argv: ['webhook', 'test', 'sent'], env }]);
      network.happen(5);
      network.settle();
      await world.succeeds(['run', '--stop-at', 'end'], {
        ...env,
        DATABASE_URL: world.url(`${world.prefix}_writer`),
        POSTGRES_MIGRATE: 'never',
        INDEXER_HTTP_PORT: '0',
      });
      await runAll([{ argv: ['webhook', 'remove', 'sent'] }]);
      expect(await query(world.url(`${world.prefix}_analyst`), 'select count(*) > 0 as some from events')).toEqual([
        { some: true },
      ]);
      const [token] = await world.query('select id from ledger.reader_tokens where revoked_at is null');
      await runAll([{ argv: ['reader-token', 'revoke', String(token?.['id'])] }]);
    });

    it('hands the stream over to another database, with the settings of the roles', async () => {
      const other = `${provider.admin}_other`;
      await world.query(`create database ${other} encoding 'UTF8' template template0`);
      const file = world.file('other-url', world.url(undefined, other));
      const output = await world.succeeds(['rebuild', '--into-file', file, '--yes']);
      expect(output).toContain('done: handed over');
      expect(output).not.toContain('not copied');
      const role = 'select current_user::text as role';
      expect(await query(world.url(`${world.prefix}_migrator`, other), role)).toEqual([
        { role: `${world.prefix}_owner` },
      ]);
      const mode = 'show default_transaction_read_only';
      expect(await query(world.url(`${world.prefix}_analyst`, other), mode)).toEqual([
        { default_transaction_read_only: 'on' },
      ]);
      world.database = other;
    });

    it('runs every command that changes or deletes history', async () => {
      await runAll(changingCommands(facts));
      world.options = { ...world.options, LEDGER_TOPOLOGY: 'false' };
      await runAll([{ argv: ['run', '--stop-at', 'end'], env: { INDEXER_HTTP_PORT: '0' } }]);
      world.options = { ...world.options, ...world.participant(1) };
      await runAll([{ argv: ['switch-participant', '--yes'] }]);
      const [row] = await world.query('select min("offset") + 10 as before from ledger.updates');
      await runAll(deletingCommands(facts, String(row?.['before'])));
    });

    it('has run every command that uses a database', () => {
      const missing = commands.map(({ name }) => name).filter((name) => !used.has(name) && !withoutDatabase.has(name));
      expect(missing).toEqual([]);
    });
  });
}
