/**
 * Tests every row of the table of least roles (docs/how-to/secure/roles.md) with one indexed database. The feature
 * works as the role in its row. As a role with fewer rights, it fails with an error that names the missing right or the
 * role to use.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { leastRoleOf, leastRoles, type Feature } from '../../../src/cli/command-line/least-roles.ts';
import { query } from '../../support/database.ts';
import { waitFor } from '../../support/wait-for.ts';
import { startReceiver } from '../../webhooks/receiver.ts';
import { includedLogins, names, RolesWorld, type Login } from './world.ts';

let world: RolesWorld;
/** An archived contract, a party with tokens, the newest offset, and an earlier offset. */
let hiddenIds: Readonly<Record<'archived' | 'party' | 'end' | 'middle', string>>;
let pqsFile: string;
/** File with the SELECT of a projection, and the flag with the role that reads its rows. */
let sqlFile: string;
let labelFile = '';
let readAs: readonly string[];

interface Case {
  readonly feature: Feature;
  /** Commands in the order in which they run. Roles with fewer rights run each command first, and must fail. */
  readonly calls: readonly (() => readonly string[] | Promise<readonly string[]>)[];
  readonly env?: Readonly<Record<string, string>>;
  /** Runs after all commands succeeded as the least role. */
  readonly afterwards?: () => Promise<void> | void;
}

const call = (feature: Feature, ...calls: readonly (readonly string[])[]): Case => ({
  feature,
  calls: calls.map((args) => () => args),
});

async function expectRefused(
  login: Login,
  argv: readonly string[],
  { feature, env }: Case,
  role: Login,
): Promise<void> {
  const { code, stdout, stderr } = await world.run(login, argv, env);
  const message = `${feature} as ${login}: ${stderr}${stdout.slice(-500)}`;
  expect(code, message).not.toBe(0);
  expect(`${stderr}${stdout}`, message).toMatch(names[role]);
  expect(stderr).not.toMatch(/UNEXPECTED|grant the role its rights/);
}

/** Features that have a test. */
const triedFeatures: Feature[] = [];

function surface(feature: Feature, promise: string, test: () => Promise<void>): void {
  triedFeatures.push(feature);
  it(`${feature}: ${promise}`, test);
}

function runs(cases: readonly Case[]): void {
  triedFeatures.push(...cases.map(({ feature }) => feature));
  it.each(cases)('runs $feature, and roles with fewer rights fail', async (loginName) => {
    const role = leastRoleOf(loginName.feature);
    if (role === 'token') throw new Error('a token runs no command');
    for (const args of loginName.calls) {
      const argv = await args();
      for (const login of includedLogins[role]) await expectRefused(login, argv, loginName, role);
      await world.succeeds(role, argv, loginName.env);
    }
    await loginName.afterwards?.();
  });
}

beforeAll(async () => {
  world = await RolesWorld.open();
  const [first] = world.network.participants;
  if (first === undefined) throw new Error('the network has no participant');
  first.faults.unknownKind = { path: '/v2/updates', atOffset: world.end(), times: 1 };
  const env = { INDEXER_QUARANTINE: 'true', INDEXER_UNKNOWN_UPDATES: 'park' };
  {
    await using indexer = await world.live('writer', env);
    await indexer.reaches(world.end(), 60_000);
    await indexer.completionsReach(world.end());
    await waitFor('typed views are refused to the writer', () =>
      indexer.log.join('').includes('VIEWS_NOT_PERMITTED') ? true : undefined,
    );
  }
  expect(await world.query('select from ledger.quarantine')).toHaveLength(1);
  await world.succeeds('administrator', ['grant-reader', world.served]);
  // The extension is created, but not loaded on most servers.
  await world.query(`do $$ begin
    if exists (select from pg_available_extensions where name = 'pg_stat_statements') then
      create extension pg_stat_statements;
    end if;
  end $$`);
  const [row] = await world.query(
    `select (select contract_id from explore.contracts where not is_active limit 1) as archived,
            (select owner from explore.token_balances limit 1) as party,
            (select max("offset") from ledger.updates) as "end",
            (select min("offset") + 20 from ledger.updates) as middle`,
  );
  const texts = Object.entries(row ?? {}).map(([name, value]) => [name, String(value)]);
  hiddenIds = Object.fromEntries(texts) as typeof hiddenIds;
  pqsFile = join(world.folder, 'pqs-url');
  writeFileSync(pqsFile, world.url('reader'), { mode: 0o600 });
  labelFile = join(world.folder, 'customers.csv');
  writeFileSync(labelFile, 'party,label\nalice::1220,Alice\n');
  sqlFile = join(world.folder, 'events.sql');
  writeFileSync(
    sqlFile,
    'select e."offset", e.node_id from explore.events e where e."offset" > :from and e."offset" <= :to',
  );
  readAs = ['--role', `${world.prefix}_reader`];
}, 120_000);
afterAll(async () => {
  await world[Symbol.asyncDispose]();
});

describe('least role for reading', () => {
  runs([
    call('status --sizes', ['status', '--sizes']),
    call('status', ['status']),
    call('query', ['query', 'select count(*) from explore.contracts']),
    { feature: 'explain', calls: [() => ['explain', hiddenIds.end]] },
    { feature: 'diff', calls: [() => ['diff', hiddenIds.middle, hiddenIds.end]] },
    { feature: 'account-statement', calls: [() => ['account-statement', '--party', hiddenIds.party, '--json']] },
    call('views list', ['views', 'list']),
    call('quarantine list', ['quarantine', 'list']),
    call('hold list', ['hold', 'list']),
    call('labels list', ['labels', 'list']),
    call('webhook list', ['webhook', 'list']),
    call('projection list', ['projection', 'list']),
    call('jobs list', ['jobs', 'list']),
    call('filter', ['filter']),
    call('reader-token list', ['reader-token', 'list']),
    call('codegen', ['codegen', '--lang', 'ts']),
    call('graphql', ['graphql', '--postgraphile'], ['graphql', '--hasura']),
    call('export', ['export', '--to', 'lake']),
    { feature: 'compare-pqs', calls: [() => ['compare-pqs', '--pqs-file', pqsFile, '--pqs-schema', 'pqs']] },
    {
      ...call(
        'verify',
        ['verify', '--invariants'],
        ['verify', '--tokens'],
        ['verify', '--tail', '20'],
        ['verify', '--acs'],
      ),
      afterwards: async () => {
        const results = 'select from ledger.verifications';
        expect(await world.query(results)).toEqual([]);
        await world.succeeds('writer', ['verify', '--invariants']);
        expect(await world.query(results)).toHaveLength(1);
      },
    },
    call('index suggest', ['index', 'suggest']),
    { feature: 'reset', calls: [() => ['reset', '--to', hiddenIds.middle], () => ['reset', '--all']] },
    call('reseed', ['reseed']),
    { ...call('filter accept', ['filter', 'accept']), env: { LEDGER_TOPOLOGY: 'false' } },
    { ...call('filter extend', ['filter', 'extend']), env: { LEDGER_CREATED_EVENT_BLOBS: 'true' } },
    call('switch-participant', ['switch-participant']),
  ]);
});

describe('least role for maintenance', () => {
  runs([
    call('check', ['check', '--timeout', '60']),
    call('hold place', ['hold', 'place', 'replica']),
    call('hold release', ['hold', 'release', 'replica']),
    { feature: 'labels load', calls: [() => ['labels', 'load', labelFile]] },
    call('labels remove', ['labels', 'remove', 'customers']),
    call('export --hold', ['export', '--to', 'held', '--hold', 'lake']),
    {
      feature: 'webhook add',
      calls: [() => ['webhook', 'add', 'told', '--url', 'https://hooks.example.com/told', '--role', world.served]],
    },
    call('webhook rotate', ['webhook', 'rotate', 'told'], ['webhook', 'rotate', 'told', '--finish']),
    call('webhook dead-letters', ['webhook', 'dead-letters', 'told']),
    call('webhook replay', ['webhook', 'replay', 'told']),
    call('webhook discard', ['webhook', 'discard', 'told']),
    call('webhook resume', ['webhook', 'resume', 'told']),
    call('webhook remove', ['webhook', 'remove', 'told']),
    { ...call('migrate', ['migrate', '--postgres-schema', 'another']), env: { POSTGRES_MIGRATE: 'auto' } },
    call('views rebuild', ['views', 'rebuild']),
    call('index create', ['index', 'create', 'payload.owner']),
    { feature: 'projection check', calls: [() => ['projection', 'check', sqlFile, ...readAs]] },
    { feature: 'projection add', calls: [() => ['projection', 'add', 'events', '--sql', sqlFile, ...readAs]] },
    call('projection refill', ['projection', 'refill', 'events']),
    call('projection drop', ['projection', 'drop', 'events']),
    { feature: 'reader-token create', calls: [() => ['reader-token', 'create', '--role', world.served]] },
    {
      feature: 'reader-token revoke',
      calls: [
        async () => {
          const [{ id } = {}] = await world.query('select id from ledger.reader_tokens where revoked_at is null');
          return ['reader-token', 'revoke', String(id)];
        },
      ],
    },
    { feature: 'grant-reader', calls: [() => ['grant-reader', world.served]] },
    { feature: 'grant-roles', calls: [() => ['grant-roles', ...world.named]] },
  ]);
});

describe('least role of other features', () => {
  surface(
    'schemas `explore`, `pqs` and `typed`',
    'the reader can select from every view, another login from none',
    async () => {
      const views = await world.query(
        `select format('%I.%I', schemaname, viewname) as name from pg_views where schemaname in ('typed', 'explore', 'pqs', 'pqs_multisync')`,
      );
      expect(views.filter(({ name }) => String(name).startsWith('typed.')).length).toBeGreaterThan(20);
      for (const { name } of views) await query(world.url('reader'), `select count(*) from ${String(name)}`);
      await query(world.url('reader'), `select count(*) from pqs.active()`);
      await expect(query(world.url('any login'), 'select from explore.events')).rejects.toThrow(/schema explore/);
    },
  );

  describe.each(['run', 'backfill'] as const)('%s', (feature) => {
    surface(feature, 'works as the writer and fails for roles with fewer rights', async () => {
      const argv = feature === 'run' ? ['run', '--stop-at', 'end'] : ['backfill', '--from', 'genesis'];
      const env = { INDEXER_HTTP_PORT: '0', INDEXER_LOG_LEVEL: 'silent' };
      for (const login of includedLogins.writer) {
        const { code, stdout, stderr } = await world.run(login, argv, env);
        expect(code, `${feature} as ${login}: ${stderr}${stdout}`).toBe(77);
        expect(stderr).toMatch(/ledger-indexer grant-roles|usage on schema/);
      }
      world.network.happen(5);
      world.network.settle();
      await world.succeeds('writer', argv, env);
      expect(await world.query('select checkpoint from ledger.stream')).toEqual([{ checkpoint: String(world.end()) }]);
    });
  });

  surface('typed views of new packages', 'the migrator creates them while the indexer runs', async () => {
    const [{ name } = {}] = await world.query(
      `select format('typed.%I', viewname) as name from pg_views where schemaname = 'typed' order by 1 limit 1`,
    );
    await world.query(`drop view ${String(name)} cascade`);
    await using indexer = await world.live('migrator');
    const there = waitFor('the view is there', async () =>
      (await world.query(`select to_regclass('${String(name)}') as view`))[0]?.['view'] == null ? undefined : true,
    );
    await there.catch((thrown: unknown) => {
      throw new Error(`${String(thrown)}, with ${name as string} dropped and this log:\n${indexer.log.join('')}`);
    });
    expect(indexer.log.join('')).not.toContain('VIEWS_NOT_PERMITTED');
  });

  surface('delivery of webhooks', 'the writer delivers with the role of the webhook', async () => {
    await using receiver = await startReceiver();
    receiver.name = 'delivered';
    const words = ['webhook', 'add', 'delivered', '--url', `${receiver.url}/delivered`, '--role', world.served];
    const { stdout } = await world.succeeds('administrator', [...words, '--after', hiddenIds.middle]);
    receiver.secret = /whsec_\S+/.exec(stdout)?.[0] ?? '';
    await using indexer = await world.live('writer', { INDEXER_WEBHOOK_NETWORKS: 'loopback' });
    await waitFor('an event is delivered', () => (receiver.taken.length > 0 ? true : undefined));
    expect(indexer.log.join('')).not.toContain('STORE_NOT_PERMITTED');
    await world.succeeds('migrator', ['webhook', 'remove', 'delivered']);
  });

  surface('webhook test', 'the writer sends an event, and roles with fewer rights fail', async () => {
    await using receiver = await startReceiver();
    receiver.name = 'tried';
    const words = ['webhook', 'add', 'tried', '--url', `${receiver.url}/tried`, '--role', world.served];
    receiver.secret = /whsec_\S+/.exec((await world.succeeds('administrator', words)).stdout)?.[0] ?? '';
    const argv = ['webhook', 'test', 'tried'];
    const env = { INDEXER_WEBHOOK_NETWORKS: 'loopback' };
    for (const login of includedLogins.writer) {
      await expectRefused(login, argv, { feature: 'webhook test', calls: [], env }, 'writer');
    }
    await world.succeeds('writer', argv, env);
    await world.succeeds('migrator', ['webhook', 'remove', 'tried']);
  });

  surface(
    '`/changes` and `/query` from another machine',
    'a request with a token succeeds, one without fails',
    async () => {
      const { stdout } = await world.succeeds('administrator', ['reader-token', 'create', '--role', world.served]);
      await using indexer = await world.live('writer');
      const after = world.end() - 3;
      const body = JSON.stringify({ statement: 'select count(*) from explore.events' });
      const ask = async (path: string, headers: Record<string, string>, body?: string): Promise<number> => {
        const stop = new AbortController();
        const method = body === undefined ? 'GET' : 'POST';
        const sent = { 'x-forwarded-for': '10.0.0.1', 'content-type': 'application/json', ...headers };
        const init = { method, headers: sent, signal: stop.signal, ...(body === undefined ? {} : { body }) };
        const { status } = await fetch(`${indexer.httpUrl}${path}`, init);
        stop.abort();
        return status;
      };
      const bearer = { authorization: `Bearer ${stdout.trim()}` };
      expect(await ask(`/changes?after=${String(after)}`, bearer)).toBe(200);
      expect(await ask('/query', bearer, body)).toBe(200);
      expect(await ask(`/changes?after=${String(after)}`, {})).toBe(403);
      expect(await ask('/query', {}, body)).toBe(403);
    },
  );
});

describe('least role for changes of stored data', () => {
  runs([
    { ...call('quarantine retry', ['quarantine', 'retry']), env: { INDEXER_UNKNOWN_UPDATES: 'store' } },
    { ...call('filter extend --yes', ['filter', 'extend', '--yes']), env: { LEDGER_CREATED_EVENT_BLOBS: 'true' } },
    call('jobs pause', ['jobs', 'pause', 'filter-extend']),
    call('jobs resume', ['jobs', 'resume', 'filter-extend']),
    call('jobs cancel', ['jobs', 'cancel', 'filter-extend']),
    call(
      'rebuild',
      ['rebuild'],
      ['rebuild', '--yes'],
      ['rebuild', '--rollback', '--yes'],
      ['rebuild', '--drop-previous', '--yes'],
    ),
    {
      ...call('filter accept --yes', ['filter', 'accept', '--yes']),
      env: { LEDGER_TOPOLOGY: 'false' },
      afterwards: () => {
        world.settings = { ...world.settings, LEDGER_TOPOLOGY: 'false' };
      },
    },
    {
      feature: 'reset --yes',
      calls: [() => ['reset', '--to', hiddenIds.end, '--yes']],
      afterwards: async () => {
        await using indexer = await world.live('writer');
        await indexer.reaches(world.end());
        world.settings = { ...world.settings, ...world.participant(1) };
      },
    },
    call('switch-participant --yes', ['switch-participant', '--yes']),
  ]);
});

describe('least role for deletion', () => {
  surface(
    '`pqs.prune_to_offset()` and `pqs.redact_contract()`',
    'the redactor may call them, reader and writer may not',
    async () => {
      const calls = [
        `select pqs.redact_contract('${hiddenIds.archived}', 'asked')`,
        `select pqs.prune_to_offset(${String(Number(hiddenIds.middle) - 10)})`,
      ];
      for (const call of calls) {
        for (const login of ['reader', 'writer'] as const) {
          await expect(query(world.url(login), call), login).rejects.toThrow(/permission denied for/);
        }
        await query(world.url('redactor'), call);
      }
    },
  );

  runs([
    {
      feature: 'redact',
      calls: [
        () => ['redact', 'party', hiddenIds.party, '--reason', 'asked', '--with-exercises'],
        () => ['redact', 'party', hiddenIds.party, '--reason', 'asked', '--with-exercises', '--yes'],
      ],
    },
    {
      feature: 'prune',
      calls: [() => ['prune', '--before', hiddenIds.middle], () => ['prune', '--before', hiddenIds.middle, '--yes']],
    },
  ]);

  surface(
    'retention by `INDEXER_RETENTION`',
    'the writer prunes as a member of the redactor, which grant-roles accepts',
    async () => {
      const env = { INDEXER_RETENTION: '30m', INDEXER_RETENTION_INTERVAL: '1s' };
      const kept = 'select coalesce(pruned_to_offset, 0)::int as kept from ledger.stream';
      const before = await world.query(kept);
      {
        await using refused = await world.live('writer', env);
        const failed = (): true | undefined =>
          refused.log.join('').includes('STORE_NOT_PERMITTED') ? true : undefined;
        await waitFor('it is refused', failed);
        expect(await world.query(kept)).toEqual(before);
      }
      await world.query(`grant ${world.prefix}_redactor to ${world.prefix}_writer`);
      {
        await using indexer = await world.live('writer', env);
        await waitFor('history is pruned', async () =>
          Number((await world.query(kept))[0]?.['kept']) > Number(before[0]?.['kept']) ? true : undefined,
        );
        expect(indexer.log.join('')).not.toContain('STORE_NOT_PERMITTED');
      }
      await world.succeeds('administrator', ['grant-roles', ...world.named]);
      await world.query(`revoke ${world.prefix}_redactor from ${world.prefix}_writer`);
    },
  );

  runs([call('reseed --yes', ['reseed', '--yes']), call('reset --yes', ['reset', '--all', '--yes'])]);
});

it('every row of the table of least roles has a test', () => {
  const rows = leastRoles.flatMap(({ features }): readonly Feature[] => features);
  expect([...new Set(triedFeatures)].toSorted()).toEqual(rows.toSorted());
});
