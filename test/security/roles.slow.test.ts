/**
 * The roles of a stream. Each denied operation is tried as a separate statement. An indexer runs with the granted
 * rights.
 */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { grantReaderCommand } from '../../src/cli/roles/grant-reader.ts';
import { grantRolesCommand } from '../../src/cli/roles/grant-roles.ts';
import { readerTokenCommand } from '../../src/cli/roles/reader-token.ts';
import { migrateCommand } from '../../src/cli/follow/migrate.ts';
import { pruneCommand } from '../../src/cli/maintain/prune.ts';
import { redactCommand } from '../../src/cli/maintain/redact.ts';
import { viewsCommand } from '../../src/cli/inspect/views.ts';
import { webhookCommand } from '../../src/cli/webhooks/webhook.ts';
import { startSandbox } from '../../packages/ledger-sandbox/src/demo/sandbox.ts';
import type { Sandbox } from '../../packages/ledger-sandbox/src/server/sandbox.ts';
import { generateHistory } from '../../packages/ledger-sandbox/src/demo/traffic.ts';
import { loginPasswordOf } from '../../src/reader-token.ts';
import { terminateStaleWriters, writerSessionName } from '../../src/store/lock/writer-lock.ts';
import { runIndexer, type IndexerRun } from '../e2e/runs/indexer-run.ts';
import { createTestDatabase, query, type TestDatabase } from '../support/database.ts';
import { digestOf } from '../support/digest.ts';
import { waitFor } from '../support/wait-for.ts';
import { runCommand } from '../support/run-command.ts';
import { startReceiver } from '../webhooks/receiver.ts';
import { attempt, attempts } from './attempts.ts';
import { needs } from '../support/skips/needs.ts';
import { limitsSkipReason } from '../support/skips/server-version.ts';

const prefix = `roles_${randomBytes(4).toString('hex')}`;
const kinds = ['migrator', 'writer', 'redactor', 'reader'] as const;
type Kind = (typeof kinds)[number];
const password = 'geheim ü';

let database: TestDatabase;
let sandbox: Sandbox;
let folder: string;

async function grant(...argv: string[]): Promise<readonly string[]> {
  const lines: string[] = [];
  const args = ['--prefix', prefix, '--password-dir', folder, ...argv];
  await runCommand(grantRolesCommand, args, { DATABASE_URL: database.url }, { print: (line) => lines.push(line) });
  return lines;
}

function urlOf(kind: Kind): string {
  const url = new URL(database.url);
  url.username = `${prefix}_${kind}`;
  url.password = encodeURIComponent(password);
  return url.href;
}

async function withClientAs<T>(kind: Kind, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: urlOf(kind) });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** Starts an indexer and waits until it is live. */
async function runUntilLive(
  url: string,
  schema: string,
  env: Readonly<Record<string, string>> = {},
): Promise<IndexerRun> {
  const commonEnv = {
    LEDGER_URL: sandbox.url,
    DATABASE_URL: url,
    POSTGRES_SCHEMA: schema,
    INDEXER_BATCH_UPDATES: '20',
  };
  const indexer = await runIndexer({ ...commonEnv, ...env });
  const isLive = async (): Promise<true | undefined> => ((await indexer.status()).state === 'live' ? true : undefined);
  await waitFor('live', isLive, 60_000).catch((error: unknown) => {
    throw new Error(indexer.log.slice(-5).join(''), { cause: error });
  });
  return indexer;
}

/** Reads changes as a local program without a token. Resolves to the first change, or to the error. */
async function firstChange({ httpUrl }: IndexerRun, afterOffset: number): Promise<unknown> {
  const response = await fetch(`${httpUrl}/changes?after=${String(afterOffset)}`, {
    headers: { accept: 'application/x-ndjson' },
  });
  const decoder = new TextDecoder();
  let text = '';
  for await (const bytes of response.body ?? []) {
    text += decoder.decode(bytes as Uint8Array, { stream: true });
    const line = text.split('\n').slice(0, -1).find(Boolean);
    if (line !== undefined) return JSON.parse(line);
  }
  return text;
}

beforeAll(async () => {
  database = await createTestDatabase();
  folder = mkdtempSync(join(tmpdir(), 'roles-'));
  for (const kind of kinds) writeFileSync(join(folder, kind), `${password}\n`);
  sandbox = await startSandbox({ limits: { checkpointIntervalMs: 50 } });
  generateHistory(sandbox.ledger, { seed: 7, updates: 400 });
  await runCommand(migrateCommand, [], { DATABASE_URL: database.url });
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await sandbox.close();
  await database.drop();
  const roles = ['owner', ...kinds, 'limited'].map((kind) => `${prefix}_${kind}`).join(', ');
  await query(process.env['TEST_POSTGRES_URL'] ?? '', `drop role if exists ${roles}`);
});

it('grant-roles --dry-run prints the roles without passwords, and creates none', async () => {
  const lines = await grant('--dry-run');
  expect(lines).toContain(`create role "${prefix}_writer" login password '…' bypassrls;`);
  expect(lines.join('\n')).not.toContain(password);
  expect(await query(database.url, `select from pg_roles where rolname like '${prefix}%'`)).toEqual([]);
});

it('an indexer with the writer role stores the same tables as an indexer with the owner role', async () => {
  await grant();
  const path = '/v2/state/active-contracts';
  sandbox.faults.streamFailure = { path, failure: 'ACCESS_TOKEN_EXPIRED', afterFrames: 5, times: 2 };
  await using limitedIndexer = await runUntilLive(urlOf('writer'), 'ledger', { POSTGRES_MIGRATE: 'never' });
  expect(limitedIndexer.logged('backing off')).toBe(2);
  await using unlimitedIndexer = await runUntilLive(database.url, 'reference');
  const endBefore = sandbox.ledger.ledgerEnd();
  generateHistory(sandbox.ledger, { seed: 8, updates: 100 });
  for (const indexer of [limitedIndexer, unlimitedIndexer]) {
    await indexer.reaches(sandbox.ledger.ledgerEnd(), 60_000);
    await indexer.completionsReach(sandbox.ledger.ledgerEnd());
  }
  expect(await digestOf(database.url, 'ledger')).toBe(await digestOf(database.url, 'reference'));
  expect(await firstChange(limitedIndexer, endBefore)).toMatchObject({
    offset: expect.any(Number) as number,
    event_type: expect.any(String) as string,
  });
  const [owner] = await query(
    database.url,
    `select count(*)::int as strangers from pg_class where relnamespace = 'ledger'::regnamespace
        and relowner <> '${prefix}_owner'::regrole`,
  );
  expect(owner).toEqual({ strangers: 0 });
});

it('the migrator role rebuilds views, and the reader role can select from them', async () => {
  const env = { DATABASE_URL: urlOf('migrator') };
  const lines: string[] = [];
  await runCommand(migrateCommand, [], env, { write: (text) => lines.push(text) });
  expect(lines).toEqual(['schema "ledger" is up to date\n']);
  await runCommand(viewsCommand, ['rebuild'], env, { print: (line) => lines.push(line) });
  const owners = await query(
    database.url,
    `select distinct pg_get_userbyid(relowner) as owner from pg_class
      where relnamespace in ('typed'::regnamespace, 'explore'::regnamespace)`,
  );
  expect(owners).toEqual([{ owner: `${prefix}_owner` }]);
  await withClientAs('reader', async (client) => {
    const { rows } = await client.query<{ name: string }>(
      `select format('%I.%I', schemaname, viewname) as name from pg_views where schemaname in ('typed', 'explore', 'pqs', 'pqs_multisync')`,
    );
    expect(rows.length).toBeGreaterThan(5);
    for (const { name } of rows) await client.query(`select count(*) from ${name}`);
  });
});

describe.each(kinds)('%s role', (kind) => {
  it('may run its own operations and no others', async () => {
    await withClientAs(kind, async (client) => {
      for (const { sql, may: allowedLogins = [] } of attempts) {
        const outcome = await attempt(client, sql);
        expect(outcome, `${kind}: ${sql}`).toBe(allowedLogins.includes(kind) ? undefined : '42501');
      }
    });
  });
});

it('the writer role cannot clear a published seed, and other roles cannot clear any seed', async () => {
  const count = 'select count(*)::int as n from ledger.contracts';
  const countBefore = await query(database.url, count);
  const clearSeedSql = 'select ledger.clear_unfinished_seed(epoch) as cleared from ledger.stream';
  expect(await withClientAs('writer', async (client) => (await client.query(clearSeedSql)).rows)).toEqual([
    { cleared: false },
  ]);
  for (const kind of ['reader', 'redactor'] as const) {
    expect(await withClientAs(kind, (client) => attempt(client, clearSeedSql)), kind).toBe('42501');
  }
  expect(await query(database.url, count)).toEqual(countBefore);
});

it('the writer role cannot delete history by marking it as unpublished', async () => {
  const tables = ['contracts', 'live', 'ended', 'coverage', 'contract_parties', 'templates'];
  const count = `select ${tables.map((table) => `(select count(*)::int from ledger.${table}) as ${table}`).join(', ')}`;
  const countBefore = await query(database.url, count);
  await withClientAs('writer', async (client) => {
    await client.query('begin; update ledger.stream set seeded_at = null, checkpoint = null');
    try {
      const clearSeedSql = 'select ledger.clear_unfinished_seed(epoch) as cleared from ledger.stream';
      expect((await client.query(clearSeedSql)).rows).toEqual([{ cleared: false }]);
      expect((await client.query(count)).rows).toEqual(countBefore);
    } finally {
      await client.query('rollback');
    }
  });
});

it('an indexer parks and keeps the history if the history has no published seed', async () => {
  const count = 'select count(*)::int as n from ledger.contracts';
  const countBefore = await query(database.url, count);
  const [{ seeded: seededAt } = {}] = await query(database.url, 'select seeded_at::text as seeded from ledger.stream');
  await withClientAs('writer', (client) => client.query('update ledger.stream set seeded_at = null'));
  try {
    const env = { LEDGER_URL: sandbox.url, DATABASE_URL: urlOf('writer'), POSTGRES_MIGRATE: 'never' };
    await using indexer = await runIndexer(env);
    await waitFor('parked', async () => ((await indexer.status()).state === 'parked' ? true : undefined));
    expect(indexer.log.join('')).toContain('STORE_SCHEMA_MISMATCH');
    expect(await query(database.url, count)).toEqual(countBefore);
  } finally {
    await query(database.url, `update ledger.stream set seeded_at = '${String(seededAt)}'`);
  }
});

it.each(['migrator', 'writer'] as const)(
  'the %s role can end an open transaction of an earlier writer',
  async (kind) => {
    const left = new Client({ connectionString: urlOf(kind), application_name: writerSessionName('ledger') });
    left.on('error', () => undefined);
    const gone = new Promise((resolve) => left.once('end', resolve));
    await left.connect();
    await left.query('begin; update ledger.stream set writer = writer');
    expect(await withClientAs(kind, (client) => terminateStaleWriters(client, 'ledger'))).toBe(1);
    await gone;
    expect(await withClientAs(kind, (client) => terminateStaleWriters(client, 'ledger'))).toBe(0);
  },
);

it('the writer role delivers to webhooks with the rights of a reader role', async () => {
  await using receiver = await startReceiver();
  const lines: string[] = [];
  const webhook = (url: string, ...words: string[]) =>
    runCommand(webhookCommand, words, { DATABASE_URL: url }, { print: (line) => lines.push(line) });
  const [stream] = await query(database.url, 'select seed_offset from ledger.stream');
  const role = ['--role', `${prefix}_reader`, '--after', String(stream?.['seed_offset'])];
  await webhook(database.url, 'add', 'told', '--url', `${receiver.url}/told`, ...role);
  receiver.name = 'told';
  receiver.secret = /whsec_\S+/.exec(lines.join('\n'))?.[0] ?? '';
  // The first event is rejected once.
  receiver.reply = ({ place }) => ({ status: place === receiver.heard[0]?.place ? 422 : 204 });
  const env = { INDEXER_WEBHOOK_NETWORKS: 'loopback', INDEXER_WEBHOOK_ATTEMPTS: '1', POSTGRES_MIGRATE: 'never' };
  await using indexer = await runUntilLive(urlOf('writer'), 'ledger', env);
  const dead = () => query(database.url, 'select from ledger.webhook_dead_letters');
  await waitFor('there is a dead letter', async () => ((await dead()).length > 0 ? true : undefined));
  receiver.reply = () => ({ status: 204 });
  await webhook(urlOf('migrator'), 'replay', 'told');
  const text = `select count(*)::int as events from explore.events where "offset" > ${String(stream?.['seed_offset'])}`;
  const [stored] = await query(database.url, text);
  const taken = () => new Set(receiver.taken.map(({ place }) => place)).size;
  await waitFor('everything is taken', () => (taken() === stored?.['events'] ? true : undefined));
  await waitFor('no letter is left', async () => ((await dead()).length === 0 ? true : undefined));
  expect(indexer.log.filter((line) => line.includes('webhook: local failure'))).toEqual([]);
  await asksNothingAsWriter(indexer);
  // Other logins see no webhook URL and no secret.
  for (const kind of ['reader', 'redactor'] as const) {
    const secrets = await withClientAs(kind, (client) => client.query('select from ledger.webhook_secrets'));
    expect(secrets.rowCount, kind).toBe(0);
  }
  await webhook(urlOf('migrator'), 'remove', 'told');
});

/** A local program has no password, so the query page does not run its statements as the login of the indexer. */
async function asksNothingAsWriter({ httpUrl }: IndexerRun): Promise<void> {
  for (const statement of [
    'select secret from ledger.webhook_secrets',
    'select hash from ledger.reader_tokens',
    `select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'ledger-indexer%'`,
  ]) {
    const headers = { origin: httpUrl, 'content-type': 'application/json' };
    const response = await fetch(`${httpUrl}/query`, { method: 'POST', headers, body: JSON.stringify({ statement }) });
    expect(response.ok, statement).toBe(false);
    expect(await response.text()).toContain('grant-reader ledger_console');
  }
}

it('the redactor role can redact and prune', async () => {
  const env = { DATABASE_URL: urlOf('redactor') };
  const never = new AbortController().signal;
  const lines: string[] = [];
  const [gone] = await query(
    database.url,
    `select e.contract_id as id from ledger.decoded_exercises e join ledger.decoded_contracts c using (contract_id) where e.consuming limit 1`,
  );
  const words = ['contract', String(gone?.['id']), '--reason', 'asked for', '--with-exercises', '--yes'];
  await runCommand(redactCommand, words, env, { stop: never, print: (line) => lines.push(line) });
  const left = `select count(*)::int as n from ledger.decoded_contracts where contract_id = '${String(gone?.['id'])}' and payload is not null`;
  expect(await query(database.url, left)).toEqual([{ n: 0 }]);
  const [middle] = await query(database.url, 'select min("offset") + 20 as offset from ledger.updates');
  const pruneArgs = ['--before', String(middle?.['offset']), '--yes'];
  await runCommand(pruneCommand, pruneArgs, env, { stop: never, print: (line) => lines.push(line) });
  // Updates whose contracts are still active are kept.
  expect(lines.join('\n')).toMatch(/pruned up to and including offset \d+/);
  const kept = await query(database.url, 'select pruned_to_offset is not null as kept from ledger.stream');
  expect(kept).toEqual([{ kept: true }]);
});

it('grant-roles can be repeated, also as the migrator, with the same rights', async () => {
  const rights = `select c.oid::regclass::text as name, array(select a::text from unnest(c.relacl) a order by 1) as acl
                    from pg_class c where c.relnamespace = 'ledger'::regnamespace order by 1`;
  const before = await query(database.url, rights);
  await grant();
  expect(await query(database.url, rights)).toEqual(before);
  await runCommand(grantRolesCommand, ['--prefix', prefix], { DATABASE_URL: urlOf('migrator') });
  expect(await query(database.url, rights)).toEqual(before);
});

it('the writer role can write after a limited reader was created', needs(limitsSkipReason), async () => {
  const [party] = sandbox.ledger.localParties();
  const role = `${prefix}_limited`;
  await runCommand(grantReaderCommand, [role, '--party', String(party)], { DATABASE_URL: database.url });
  const secured = `select relrowsecurity as secured from pg_class where oid = 'ledger.contracts'::regclass`;
  expect(await query(database.url, secured)).toEqual([{ secured: true }]);
  let token = '';
  const io = { print: (line: string) => void (token = line), stderr: new PassThrough() };
  await runCommand(readerTokenCommand, ['create', '--role', role], { DATABASE_URL: database.url }, io);
  // The writer has become a member of the role. The next run of grant-roles revokes this membership. No policy of the
  // role restricts the writer.
  await grant();
  const all = await query(database.url, 'select count(*)::int as n from ledger.contracts');
  expect(await query(urlOf('writer'), 'select count(*)::int as n from ledger.contracts')).toEqual(all);
  await using indexer = await runUntilLive(urlOf('writer'), 'ledger', { POSTGRES_MIGRATE: 'never' });
  const after = sandbox.ledger.ledgerEnd();
  generateHistory(sandbox.ledger, { seed: 9, updates: 50 });
  await indexer.reaches(sandbox.ledger.ledgerEnd(), 60_000);
  expect(indexer.logged('backing off')).toBe(0);
  await answersAs(indexer, role, token, after);
  await endsWithToken(token);
  const logins = await query(database.url, 'select login_name as name from ledger.reader_tokens');
  for (const { name } of logins)
    await query(database.url, `drop owned by "${String(name)}"; drop role "${String(name)}"`);
});

/**
 * Checks an expired token with an indexer that may not alter roles. The indexer ends open connections, and a role that
 * may alter roles disables the login.
 */
async function endsWithToken(token: string): Promise<void> {
  const [found] = await query(database.url, 'select login_name as login from ledger.reader_tokens');
  const url = new URL(database.url);
  [url.username, url.password] = [String(found?.['login']), loginPasswordOf(token)];
  const open = new Client({ connectionString: url.href });
  open.on('error', () => undefined);
  let ended = false;
  open.once('end', () => (ended = true));
  await open.connect();
  expect((await open.query('select session_user as login')).rows).toEqual([found]);
  await query(database.url, 'update ledger.reader_tokens set expires_at = now()');
  await waitFor('the session of the expired token is ended', () => (ended ? true : undefined));
  const mayLogIn = `select rolcanlogin from pg_roles where rolname = '${url.username}'`;
  expect(await query(database.url, mayLogIn)).toEqual([{ rolcanlogin: true }]);
  await runCommand(readerTokenCommand, ['list'], { DATABASE_URL: database.url }, { print: () => undefined });
  expect(await query(database.url, mayLogIn)).toEqual([{ rolcanlogin: false }]);
}

/**
 * Reads changes under the role, and runs statements as the login of the token, with an indexer that is not a superuser.
 */
async function answersAs(indexer: IndexerRun, role: string, token: string, after: number): Promise<void> {
  const seen = await query(
    `${database.url}?options=-c%20role%3D${role}`,
    `select "offset" || '-' || node_id as id from explore.events where "offset" > ${after} order by "offset", node_id`,
  );
  const headers = {
    authorization: `Bearer ${token}`,
    'x-forwarded-for': '10.0.0.1',
    'content-type': 'application/json',
  };
  const stream = await fetch(`${indexer.httpUrl}/changes?after=${after}`, { headers });
  expect(stream.status).toBe(200);
  expect(seen.length).toBeGreaterThan(0);
  let text = '';
  for await (const piece of stream.body ?? []) {
    text += Buffer.from(piece as Uint8Array).toString('utf8');
    if ((text.match(/^data: /gm) ?? []).length >= seen.length) break;
  }
  expect([...text.matchAll(/^id: (\S+)\nevent/gm)].map(([, id]) => id)).toEqual(seen.map(({ id }) => id));
  const body = JSON.stringify({ statement: `select count(*) from explore.events where "offset" > ${after}` });
  const response = await fetch(`${indexer.httpUrl}/query`, { method: 'POST', headers, body });
  expect(await response.json()).toMatchObject({ rows: [[String(seen.length)]] });
}
