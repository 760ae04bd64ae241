/** A role that is limited to parties reads no row of other parties, through any table, view or function. */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, escapeIdentifier } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { grantReaderCommand } from '../../src/cli/roles/grant-reader.ts';
import { decodeUpdate } from '../support/wire/decode.ts';
import { openDatabase, type Database } from '../../src/store/connection/database.ts';
import { migrate } from '../../src/store/schema/migrations.ts';
import { readSchemas } from '../../src/store/connection/read-schemas.ts';
import { secureViews } from '../../src/store/roles/secure-views.ts';
import { syncTypedViews } from '../../src/store/typed/views.ts';
import { openSession, type StoreSession } from '../../src/store/write/session.ts';
import { createTestDatabase, query, type TestDatabase } from '../support/database.ts';
import * as frames from '../support/frames.ts';
import { runCommand } from '../support/run-command.ts';
import { callables, callsOf, historyOf, iou, relations, rowsOf, type Relation } from './reader-attempts.ts';
import { needs } from '../support/skips/needs.ts';
import { canLimit, limitsSkipReason, oldLimitsSkipReason } from '../support/skips/server-version.ts';

const identity = {
  participantId: 'p::1220',
  filter: '{"p":"foreign"}',
  filterHash: 'f',
  shape: 'LEDGER_EFFECTS',
} as const;
const schemas = readSchemas('ledger');
const names = Object.values(schemas);
const suffix = randomBytes(4).toString('hex');
const limitedRole = `limited_${suffix}`;
const fullRole = `full_${suffix}`;
const password = 'geheim ü';

let testDatabase: TestDatabase;
let database: Database;
let session: StoreSession;
let checkpoint = 0;
let folder: string;

async function write(updates: readonly frames.JsonRecord[]): Promise<void> {
  const batch = session.newBatch(checkpoint);
  for (const update of updates) batch.add(decodeUpdate(frames.text(update)));
  await session.writeBatch(batch, checkpoint);
  checkpoint = batch.offset;
}

async function grant(...argv: string[]): Promise<readonly string[]> {
  const lines: string[] = [];
  await runCommand(grantReaderCommand, argv, { DATABASE_URL: testDatabase.url }, { print: (line) => lines.push(line) });
  return lines;
}

function urlOf(role: string): string {
  const url = new URL(testDatabase.url);
  url.username = role;
  url.password = encodeURIComponent(password);
  return url.href;
}

/** Logs in as the role with its password, and runs `work`. */
async function urlAs<T>(role: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: urlOf(role) });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  const options = { schema: 'ledger', statementTimeoutMs: 60_000, applicationName: 'test roles' };
  database = openDatabase({ url: testDatabase.url, ...options });
  await migrate(database);
  session = await openSession(database, identity);
  await session.publishSeed(0, 'genesis');
  await write([...historyOf('own', frames.alice, 1), ...historyOf('foreign', 'Eve::1220ee', 7)]);
  await write([frames.topology(13)]);
  folder = mkdtempSync(join(tmpdir(), 'roles-'));
  writeFileSync(join(folder, 'password'), `${password}\n`);
  const file = join(folder, 'password');
  await grant(fullRole, '--password-file', file);
  if (canLimit) await grant(limitedRole, '--party', frames.alice, '--party=Nobody::1220ff', '--password-file', file);
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await database.close();
  await testDatabase.drop();
  await query(process.env['TEST_POSTGRES_URL'] ?? '', `drop role if exists ${limitedRole}, ${fullRole}`);
});

/** The generated history view of the template. */
function iouViewName(typedRelations: readonly Relation[]): string {
  return (
    typedRelations.map(({ name }) => name.slice('typed.'.length)).find((name) => name.endsWith('history')) ?? 'none'
  );
}

/** Expects that the limited role sees no row of other parties in any view. */
async function expectNoForeignRows(): Promise<void> {
  await urlAs(limitedRole, async (client) => {
    for (const { name, kind } of await relations(testDatabase.url)) {
      if (kind !== 'v') continue;
      expect(JSON.stringify(await rowsOf(client, `select t::text as line from ${name} t`)), name).not.toContain(
        'foreign',
      );
    }
  });
}

it('grant-reader with limits fails and creates no role on Postgres before 15', needs(oldLimitsSkipReason), async () => {
  for (const limit of [['--party', frames.alice], ['--node-tokens']]) {
    await expect(grant(limitedRole, ...limit)).rejects.toMatchObject({
      code: 'GRANT_READER_REFUSED',
      message: expect.stringContaining('needs Postgres 15') as unknown,
    });
  }
  expect(await query(testDatabase.url, `select from pg_roles where rolname = '${limitedRole}'`)).toEqual([]);
  const secured = `select from pg_class where relrowsecurity and relnamespace = 'ledger'::regnamespace`;
  expect(await query(testDatabase.url, secured)).toEqual([]);
});

describe('party-limited role', needs(limitsSkipReason), () => {
  it('reads its own rows in each contract table, and no rows of other parties', async () => {
    await urlAs(limitedRole, async (client) => {
      const seen = new Map<string, readonly string[] | string>();
      for (const { name } of await relations(testDatabase.url))
        seen.set(name, await rowsOf(client, `select t::text as line from ${name} t`));
      const leaks = [...seen].filter(
        ([, rows]) => typeof rows !== 'string' && rows.some((row) => row.includes('foreign')),
      );
      expect(leaks).toEqual([]);
      for (const table of [
        'contracts',
        'live',
        'ended',
        'lifetimes',
        'contract_states',
        'exercises',
        'archives',
        'reassignments',
        'decoded_contracts',
        'decoded_exercises',
        'decoded_archives',
        'decoded_interface_views',
        'decoded_reassignments',
      ]) {
        expect(seen.get(`ledger.${table}`), table).toContainEqual(expect.stringContaining('own'));
      }
      expect(seen.get('ledger.updates')).toHaveLength(7);
      expect(seen.get('ledger.active_contracts')).toContainEqual(expect.stringContaining('own'));
      expect([seen.get('ledger.active_counts'), seen.get('ledger.activity_hourly')]).toEqual([[], []]);
      expect(seen.get('ledger.stream')).toBe('42501');
      expect(await rowsOf(client, 'select checkpoint::text as line from stream')).toEqual(['13']);
      const refused = [...seen].filter(([, rows]) => typeof rows === 'string').map(([name]) => name);
      expect(refused).toEqual(['ledger.completion_ranges', 'ledger.stream']);
    });
  });

  it('receives no rows of other parties from any function', async () => {
    const functions = await callables(testDatabase.url);
    expect(functions.length).toBeGreaterThan(5);
    const readableFunctions = new Set<string>();
    await urlAs(limitedRole, async (client) => {
      // Some functions wait.
      await client.query(`set statement_timeout = '200ms'`);
      for (const callable of functions) {
        for (const call of callsOf(callable)) {
          const rows = await rowsOf(client, call);
          if (typeof rows === 'string') continue;
          readableFunctions.add(callable.name);
          // A function may return its argument.
          const leaks = rows.filter((row) => row.replaceAll('foreign-1', '').includes('foreign'));
          expect(leaks, call).toEqual([]);
        }
      }
    });
    expect(readableFunctions.size).toBeGreaterThan(functions.length / 3);
    const definer = await query(
      testDatabase.url,
      `select proname from pg_proc where prosecdef and pronamespace::regnamespace::text = any ('{${names.join(',')}}')
        order by 1`,
    );
    // The first function fails for roles without write access, even if they may call it. The others return rights of the
    // current transaction, and this role may not call them.
    expect(definer.map(({ proname }) => proname)).toEqual([
      'clear_unfinished_seed',
      'session_parties',
      'session_reads_all',
    ]);
    await urlAs(limitedRole, async (client) => {
      expect(await rowsOf(client, 'select clear_unfinished_seed(epoch)::text as line from stream')).toBe('42501');
      expect(await rowsOf(client, 'select session_parties()::text as line')).toBe('42501');
    });
    // There are thousands of combinations of arguments.
  }, 240_000);

  it('cannot write, even with read-only mode and row security switched off', async () => {
    await urlAs(limitedRole, async (client) => {
      await client.query('set default_transaction_read_only = off');
      for (const { name, kind } of await relations(testDatabase.url)) {
        if (kind === 'v') continue;
        for (const change of [`delete from ${name}`, `insert into ${name} select * from ${name}`, `truncate ${name}`]) {
          expect(await rowsOf(client, change), change).toBe('42501');
        }
      }
      expect(await rowsOf(client, 'set row_security = off')).toEqual([]);
      expect(await rowsOf(client, 'select t::text as line from contracts t')).toBe('42501');
      expect(await rowsOf(client, `create table ledger.mine (a int)`)).toBe('42501');
    });
  });

  it('reads no rows of other parties after views are created or re-created', async () => {
    await query(testDatabase.url, `comment on schema explore is 'another version'`);
    await migrate(database);
    await expectNoForeignRows();
    await query(testDatabase.url, 'create view typed.new_view as select * from ledger.contracts');
    await urlAs(limitedRole, async (client) => {
      expect(await rowsOf(client, 'select t::text as line from new_view t')).toBe('42501');
      await database.transaction((owner) => secureViews(owner, schemas));
      const rows = await rowsOf(client, 'select ledger.id_text(contract_id) as line from new_view order by 1');
      expect(rows).toEqual(['own-1', 'own-2', 'own-3', 'own-3', 'own-4']);
      await query(
        testDatabase.url,
        `insert into ledger.packages values ('${iou.packageId}', 'iou', '1.0.0', '2.1', '{}')`,
      );
      for (const every of [false, true]) {
        expect((await syncTypedViews(database, [iou], every)).failed).toEqual([]);
      }
      const typed = (await relations(testDatabase.url)).filter(({ name }) => name.startsWith('typed.'));
      expect(typed.length).toBeGreaterThan(2);
      const secrets = await rowsOf(client, `select distinct secret as line from typed.${iouViewName(typed)}`);
      expect(secrets).toEqual(['own']);
    });
    await expectNoForeignRows();
  });

  it('can read tables that views of a later version require', async () => {
    const older = 'revoke select on ledger.template_interfaces, ledger.stream from';
    await query(testDatabase.url, `${older} ${limitedRole}; comment on schema explore is 'another version'`);
    await migrate(database);
    await urlAs(limitedRole, async (client) => {
      for (const name of ['active', 'creates']) {
        const rows = await rowsOf(client, `select contract_id as line from pqs.${name}(null)`);
        expect(rows.length).toBeGreaterThan(0);
        expect(rows).not.toBe('42501');
      }
    });
    await expectNoForeignRows();
  });

  it('is rejected by grant-reader without limits, or if the role bypasses policies', async () => {
    await expect(grant(limitedRole)).rejects.toMatchObject({ code: 'GRANT_READER_REFUSED' });
    const superuser = new URL(testDatabase.url).username;
    await expect(grant(superuser, '--party', frames.alice)).rejects.toMatchObject({ code: 'GRANT_READER_REFUSED' });
    await query(testDatabase.url, `create role member_${suffix} in role ${fullRole}`);
    await expect(grant(`member_${suffix}`, '--party', frames.alice)).rejects.toMatchObject({
      code: 'GRANT_READER_REFUSED',
    });
    await query(testDatabase.url, `drop role member_${suffix}`);
    await query(testDatabase.url, `grant insert on ledger.contracts to ${fullRole}`);
    await expect(grant(limitedRole, '--party', frames.alice)).rejects.toMatchObject({ code: 'GRANT_READER_REFUSED' });
    await query(testDatabase.url, `revoke insert on ledger.contracts from ${fullRole}`);
  });
});

describe('roles without party limits', () => {
  it('read every row in every table and view, as owner or as granted reader', async () => {
    const counts = new Map<string, readonly string[] | string>();
    const countOf = (name: string): string => `select count(*)::text as line from ${name}`;
    await database.withClient(async (owner) => {
      for (const { name } of await relations(testDatabase.url)) counts.set(name, await rowsOf(owner, countOf(name)));
    });
    await urlAs(fullRole, async (client) => {
      for (const [name, count] of counts) expect(await rowsOf(client, countOf(name)), name).toEqual(count);
      expect(
        await rowsOf(client, `select payload::text as line from decoded_contracts where contract_id = 'foreign-1'`),
      ).toHaveLength(1);
      expect(await rowsOf(client, 'show search_path')).toHaveLength(1);
      const { rows } = await client.query<{ timeout: string }>(
        `select current_setting('statement_timeout') as timeout`,
      );
      expect(rows).toEqual([{ timeout: '1min' }]);
      expect(await rowsOf(client, 'delete from ledger.contracts')).toBe('25006');
    });
  });

  it('can write as the indexer after a limited role is granted', async () => {
    await write([...historyOf('late', frames.alice, 31)]);
    if (!canLimit) return;
    const late = `select contract_id as line from decoded_contracts where contract_id like 'late-%' order by 1`;
    await urlAs(limitedRole, async (client) => expect(await rowsOf(client, late)).toHaveLength(5));
  });
});

it('grant-reader rejects the role of the writer and does not make it read-only', async () => {
  const owner = new URL(testDatabase.url).username;
  await expect(grant(owner)).rejects.toMatchObject({ code: 'GRANT_READER_REFUSED' });
  await write([frames.topology(41)]);
  expect(await query(testDatabase.url, 'show default_transaction_read_only')).toEqual([
    { default_transaction_read_only: 'off' },
  ]);
});

it('grant-reader limits a role whose name is the login of a cloud provider', needs(limitsSkipReason), async () => {
  const login = `Ana-1.${suffix}@corp.iam`;
  await grant(login, '--party', frames.alice, '--password-file', join(folder, 'password'));
  try {
    await urlAs(login, async (client) => {
      const { rows } = await client.query<{ contract_id: string }>('select contract_id from explore.contracts');
      expect(rows.length).toBeGreaterThan(0);
      expect(JSON.stringify(rows)).not.toContain('foreign');
    });
  } finally {
    await query(testDatabase.url, `drop owned by ${escapeIdentifier(login)}; drop role ${escapeIdentifier(login)}`);
  }
});

it(
  'grant-reader --dry-run prints statements without the password and creates no role',
  needs(limitsSkipReason),
  async () => {
    const role = `dry_${suffix}`;
    const lines = await grant(role, '--party', frames.alice, '--password-file', join(folder, 'password'), '--dry-run');
    expect(lines).toContain(`create role ${escapeIdentifier(role)} login password '…' connection limit 20;`);
    expect(lines.join('\n')).not.toContain(password);
    expect(await query(testDatabase.url, `select from pg_roles where rolname = '${role}'`)).toEqual([]);
  },
);

it.each([
  ['USAGE', []],
  ['USAGE', ['Robert"); drop table']],
  ['USAGE', ['r', '--party', `a'b`]],
  ['USAGE', ['r', '--password-file', '/nowhere']],
  ['USAGE', ['r', '--nonsense']],
])('grant-reader fails with %s for %j', async (code, argv) => {
  await expect(grant(...argv)).rejects.toMatchObject({ code });
});
