/** Runs `check` against real servers. It accepts correct setups, and each of its lines fails for a separate reason. */
import { createServer as createTcpServer, type Socket } from 'node:net';
import { Client } from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startSandbox } from '../../packages/ledger-sandbox/src/demo/sandbox.ts';
import type { Sandbox, SandboxOptions } from '../../packages/ledger-sandbox/src/server/sandbox.ts';
import { generateHistory } from '../../packages/ledger-sandbox/src/demo/traffic.ts';
import { startDaemon } from '../e2e/runs/daemon.ts';
import { createTestDatabase, query, type TestDatabase } from '../support/database.ts';
import { expiresIn, sharedSecret, token } from '../support/tokens.ts';
import { waitFor } from '../support/wait-for.ts';
import { listenOnPort, startProxy } from '../support/wire/http-proxy.ts';
import { programInProcess } from './in-process.ts';
import { program } from './program.ts';

const secret = 'a shared secret for the tests of check';
const signer = sharedSecret(secret);
const updates = 60;

interface Line {
  readonly name: string;
  readonly state: 'pass' | 'warn' | 'fail' | 'skip';
  readonly found: string;
  readonly fix?: string;
  readonly code?: string;
}

let sandbox: Sandbox;
let database: TestDatabase;
let readers: string;

async function startLedger(participantId = 'participant1::1220aa'): Promise<Sandbox> {
  const users = [
    { id: 'reader', rights: [{ kind: 'CanReadAsAnyParty' as const }] },
    { id: 'admin', rights: [{ kind: 'ParticipantAdmin' as const }, { kind: 'CanReadAsAnyParty' as const }] },
    { id: 'nobody', rights: [] },
  ];
  const startedSandbox = await startSandbox({
    participantId,
    auth: { secret, users },
    limits: { checkpointIntervalMs: 50 },
  });
  generateHistory(startedSandbox.ledger, { seed: 3, updates });
  return startedSandbox;
}

beforeEach(async () => {
  sandbox = await startLedger();
  database = await createTestDatabase();
  readers = await token(signer, { sub: 'admin', aud: 'https://daml.com/jwt/aud/participant/one' });
});
afterEach(async () => {
  await sandbox.close();
  await database.drop();
});

type Env = Readonly<Record<string, string>>;

function env(overrides: Env = {}): Env {
  return { LEDGER_URL: sandbox.url, LEDGER_TOKEN: readers, DATABASE_URL: database.url, ...overrides };
}

/** Lines of `check` by name. The exit code must be non-zero exactly if a line failed, and no secret may be printed. */
async function check(variables: Env, ...args: readonly string[]): Promise<ReadonlyMap<string, Line>> {
  const { code, stdout, stderr } = await programInProcess(['check', '--json', ...args], variables);
  expect(stderr).toBe('');
  const { ok, checks } = JSON.parse(stdout) as { ok: boolean; checks: readonly Line[] };
  expect({ code, ok }).toEqual(
    checks.some(({ state }) => state === 'fail') ? { code: 1, ok: false } : { code: 0, ok: true },
  );
  expect(stdout).not.toContain(variables['LEDGER_TOKEN'] ?? readers);
  for (const { name, state, fix } of checks) expect(fix !== undefined, name).toBe(state === 'fail' || state === 'warn');
  return new Map(checks.map((line) => [line.name, line]));
}

function failures(lines: ReadonlyMap<string, Line>): readonly string[] {
  return [...lines.values()].filter(({ state }) => state === 'fail').map(({ name }) => name);
}

/** Indexes the history with these variables. */
async function store(variables: Env = env()): Promise<void> {
  const { code, stderr } = await programInProcess(
    ['run', '--stop-at', 'end', '--http-port', '0', '--log-level', 'error'],
    variables,
  );
  expect(code, stderr).toBe(0);
}

describe('check', { timeout: 180_000 }, () => {
  it('reports no failure for a correct setup, before and after indexing', async () => {
    const checkBefore = await check(env());
    expect(failures(checkBefore)).toEqual([]);
    expect(checkBefore.get('stored stream')).toMatchObject({ state: 'skip' });
    expect(checkBefore.get('schema')?.found).toContain('does not exist yet');
    expect(await query(database.url, `select from pg_namespace where nspname = 'ledger'`)).toHaveLength(0);
    await store();
    const lines = await check(env());
    expect(failures(lines)).toEqual([]);
    expect([...lines.values()].filter(({ state }) => state === 'skip')).toEqual([]);
    expect(lines.get('token')?.found).toContain('audience https://daml.com/jwt/aud/participant/one');
    expect(lines.get('participant id')?.found).toBe('participant1::1220aa');
    expect(lines.get('user rights')?.found).toContain('user admin may read as any party');
    expect(lines.get('stored history')?.found).toContain(`checkpoint ${String(sandbox.ledger.ledgerEnd())}, 0 behind`);
  });

  it('skips the user rights if the participant has no authorization', async () => {
    await using openSandbox = await startSandbox({ limits: { checkpointIntervalMs: 50 } });
    const lines = await check(env({ LEDGER_URL: openSandbox.url }));
    expect(lines.get('user rights')).toMatchObject({
      state: 'skip',
      found: expect.stringContaining('the participant has no authorization') as string,
    });
  });

  it('prints one marked line per check, and a fix below each failure', async () => {
    const { code, stdout } = await program(['check'], {
      DATABASE_URL: 'postgres://a:hidden@127.0.0.1:1/b',
      LEDGER_URL: sandbox.url,
      LEDGER_TOKEN: readers,
    });
    expect(code).toBe(1);
    expect(stdout).toMatch(/^✓ ledger {2,}http/m);
    expect(stdout).toMatch(/^✗ postgres {2,}STORE_UNREACHABLE: .*\n +fix: /m);
    expect(stdout).toMatch(/\n1 failed\n$/);
    expect(stdout).not.toContain('hidden');
  });

  it('reports no failure for an embedded ledger and database', async () => {
    const lines = await check({});
    expect(failures(lines)).toEqual([]);
    for (const name of ['ledger', 'postgres']) expect(lines.get(name)?.found).toContain('embedded');
  });

  it('lists all configuration problems at once', async () => {
    const lines = await check({ INDEXER_BATCH_UPDATE: '1', LEDGER_URL: 'nonsense' });
    expect(lines.get('configuration')?.found).toMatch(/INDEXER_BATCH_UPDATE:.*\n.*LEDGER_URL:/);
  });

  it('fails for an invalid or expired token, and warns about a token without an audience', async () => {
    const foreignSigner = sharedSecret('another secret, which is not valid');
    const foreign = await check(env({ LEDGER_TOKEN: await token(foreignSigner) }));
    expect(foreign.get('ledger')?.state).toBe('pass');
    expect(foreign.get('ledger end')).toMatchObject({ state: 'fail', code: 'LEDGER_UNAUTHENTICATED' });
    expect(foreign.get('websocket')).toMatchObject({ state: 'skip' });
    const longTokenCheck = await check(
      env({ LEDGER_TOKEN: await token(foreignSigner, { iat: expiresIn(0), exp: expiresIn(3_600_000) }) }),
    );
    expect(longTokenCheck.get('ledger end')?.found).toMatch(
      /the token itself lives for 60 minutes; .*, and names no audience/u,
    );
    const expiredTokenCheck = await check(
      env({ LEDGER_TOKEN: await token(signer, { sub: 'admin', exp: expiresIn(-600_000) }) }),
    );
    expect(expiredTokenCheck.get('token')).toMatchObject({
      state: 'fail',
      found: expect.stringContaining('10 minutes ago') as string,
    });
    const plainTokenCheck = await check(env({ LEDGER_TOKEN: await token(signer, { sub: 'reader' }) }));
    expect(plainTokenCheck.get('participant id')).toMatchObject({ state: 'skip' });
    expect(failures(plainTokenCheck)).toEqual([]);
    expect(plainTokenCheck.get('token')).toMatchObject({
      state: 'warn',
      found: expect.stringContaining('participants from release 3.7 reject a token without an audience') as string,
      fix: expect.stringContaining('LEDGER_OAUTH_AUDIENCE') as string,
    });
  });

  it('names the parties that the user may not read, and the API call that grants the right', async () => {
    const unprivilegedToken = await token(signer, { sub: 'nobody' });
    const anyUserCheck = await check(env({ LEDGER_TOKEN: unprivilegedToken }));
    expect(anyUserCheck.get('user rights')?.found).toContain('CanReadAsAnyParty');
    expect(anyUserCheck.get('websocket')).toMatchObject({ state: 'fail', code: 'LEDGER_PERMISSION_DENIED' });
    const namedPartyCheck = await check(env({ LEDGER_TOKEN: unprivilegedToken, LEDGER_PARTIES: 'alice::1220ab' }));
    expect(namedPartyCheck.get('user rights')).toMatchObject({
      state: 'fail',
      found: 'user nobody may not read as alice::1220ab',
    });
    expect(namedPartyCheck.get('user rights')?.fix).toContain('POST /v2/users/nobody/rights');
  });

  it('warns about parties unknown to the participant and suggests the nearest party', async () => {
    const [party = ''] = sandbox.ledger.localParties();
    const mistypedParty = `${party.slice(0, -1)}${party.endsWith('0') ? '1' : '0'}`;
    const lines = await check(env({ LEDGER_PARTIES: `${party},${mistypedParty},Zoe::1220ab` }));
    expect(lines.get('parties')).toMatchObject({
      state: 'warn',
      found: `the participant knows no party ${mistypedParty} (nearest: ${party}); the participant knows no party Zoe::1220ab`,
      fix: expect.stringContaining('correct LEDGER_PARTIES') as string,
    });
    expect((await check(env({ LEDGER_PARTIES: party }))).get('parties')?.state).toBe('pass');
    const reader = await token(signer, { sub: 'reader' });
    expect((await check(env({ LEDGER_TOKEN: reader, LEDGER_PARTIES: party }))).get('parties')?.state).toBe('skip');
    const hint = await check(env({ LEDGER_PARTIES: 'alice' }));
    expect(hint.get('configuration')?.found).toMatch(/LEDGER_PARTIES: expected complete party ids.*got "alice"/);
  });

  it('suggests the nearest party in any letter case, and prefers the same namespace', async () => {
    const [party = ''] = sandbox.ledger.localParties();
    const [hint = '', fingerprint = ''] = party.split('::');
    const upperCaseCheck = await check(env({ LEDGER_PARTIES: `${hint.toUpperCase()}::1220ab` }));
    expect(upperCaseCheck.get('parties')?.found).toContain(`(nearest: ${party}`);
    const otherPartyCheck = await check(env({ LEDGER_PARTIES: `Zoe::${fingerprint}` }));
    expect(otherPartyCheck.get('parties')?.found).toContain(`(nearest: ${party}`);
  });

  it('warns about unknown interfaces and packages, and about a template in LEDGER_INTERFACES', async () => {
    const holding = '#splice-api-token-holding-v1:Splice.Api.Token.HoldingV1:Holding';
    const mistypedCheck = await check(env({ LEDGER_INTERFACES: `${holding}s` }));
    expect(mistypedCheck.get('filter')).toMatchObject({
      state: 'warn',
      found: expect.stringContaining(
        `the participant does not know interface ${holding}s (nearest: ${holding},`,
      ) as string,
    });
    const amulet = '#splice-amulet:Splice.Amulet:Amulet';
    const template = await check(env({ LEDGER_INTERFACES: amulet }));
    expect(template.get('filter')?.found).toBe(`${amulet} is a template: move it to LEDGER_TEMPLATES`);
    const name = await check(env({ LEDGER_TEMPLATES: '#splice-amulett:Splice.Amulet:Amulet' }));
    expect(name.get('filter')?.found).toContain('(nearest: splice-amulet');
    expect((await check(env({ LEDGER_INTERFACES: holding }))).get('filter')?.state).toBe('pass');
  });

  it('fails for a proxy that rejects WebSocket upgrades and for a wrong ledger clock', async () => {
    await using proxy = await startProxy(sandbox.url, new Date(Date.now() + 3_600_000).toUTCString());
    const lines = await check(env({ LEDGER_URL: proxy.url }));
    expect(lines.get('ledger end')?.state).toBe('pass');
    expect(failures(lines)).toEqual(['websocket', 'ledger clock']);
    expect(lines.get('ledger clock')?.found).toMatch(/35\d\d\.\d s ahead/);
  });

  it('fails for a template whose package is not vetted', async () => {
    const lines = await check(env({ LEDGER_TEMPLATES: '#no-such-package:Main:Thing' }));
    expect(lines.get('filter')?.found).toContain('no-such-package');
    expect(lines.get('websocket')).toMatchObject({ state: 'fail', code: 'LEDGER_FILTER_UNKNOWN' });
  });

  it('fails if the participant or the filter differs from the stored stream', async () => {
    await store();
    await using otherLedger = await startLedger('participant2::1220bb');
    const participant = await check(env({ LEDGER_URL: otherLedger.url }));
    expect(participant.get('stored stream')?.found).toContain('participant2::1220bb');
    const filter = await check(env({ LEDGER_TOPOLOGY: 'false' }));
    expect(filter.get('stored stream')?.fix).toContain('filter accept');
  });

  it('reports deprecated and removed API calls of the ledger release', async () => {
    const checkLine = async (options: SandboxOptions, overrides: Env = {}): Promise<Line | undefined> => {
      await using otherSandbox = await startSandbox(options);
      return (await check(env({ LEDGER_URL: otherSandbox.url, ...overrides }))).get('release');
    };
    expect(await checkLine({})).toMatchObject({ state: 'pass', found: expect.stringContaining('3.5.10: 11 calls') });
    expect((await checkLine({ release: '3.6' }))?.found).toContain('rejected unless the participant enables them');
    expect(await checkLine({ release: '3.7' })).toMatchObject({
      state: 'pass',
      found: expect.stringContaining('reassignments in flight are requested'),
    });
    const minimalToken = await token(signer, { sub: 'admin' });
    const scopeProblems = await checkLine({ release: '3.7' }, { LEDGER_TOKEN: minimalToken });
    expect(scopeProblems).toMatchObject({ state: 'fail', fix: expect.stringContaining('LEDGER_OAUTH_AUDIENCE') });
    expect(await checkLine({ version: 'main' })).toMatchObject({ state: 'warn' });
    const redirectResponse = {
      path: '/docs/openapi',
      as: { status: 200, type: 'text/plain', content: 'activeAtOffset' },
    };
    const undescribedCheck = await checkLine({ release: '3.7', faults: { answer: redirectResponse } });
    expect(undescribedCheck).toMatchObject({ state: 'warn', fix: expect.stringContaining('verify --acs') });
  });

  it('warns about a seed from a release that omits reassignments in flight', async () => {
    await store();
    expect((await check(env())).get('stored seed')).toMatchObject({
      state: 'pass',
      found: expect.stringContaining('release 3.5.10'),
    });
    await query(database.url, `update ledger.stream set seed_release = '3.7.0', seed_has_in_flight = false`);
    const line = (await check(env())).get('stored seed');
    expect(line).toMatchObject({ state: 'warn', found: expect.stringContaining('came from release 3.7.0') });
    expect(line?.fix).toMatch(/verify --acs.*reseed/u);
  });

  it('reports a ledger that is pruned past the checkpoint or ends before the checkpoint', async () => {
    await store();
    const storedOffset = sandbox.ledger.ledgerEnd();
    generateHistory(sandbox.ledger, { seed: 4, updates: 20 });
    sandbox.ledger.pruneTo(storedOffset + 10);
    expect((await check(env())).get('stored history')?.fix).toContain('reseed');
    await query(database.url, 'update ledger.stream set checkpoint = 100000');
    expect((await check(env())).get('stored history')?.found).toContain('before the checkpoint 100000');
  });

  it('passes if an indexer moves the checkpoint during the ledger-end request', async () => {
    await store();
    const writer = new Client({ connectionString: database.url });
    await writer.connect();
    // The lock is released only after the first ledger-end response, so the checkpoint that is read is later than it.
    await writer.query('begin; lock table ledger.stream in access exclusive mode');
    const requests = { times: 0 };
    await using proxy = await startProxy(sandbox.url, undefined, async (path) => {
      if (path !== '/v2/state/ledger-end' || (requests.times += 1) > 1) return;
      generateHistory(sandbox.ledger, { seed: 4, updates: 20 });
      await writer.query('update ledger.stream set checkpoint = $1', [sandbox.ledger.ledgerEnd()]);
      await writer.query('commit');
    });
    const lines = await check(env({ LEDGER_URL: proxy.url }), '--timeout', '30');
    await writer.end();
    expect(lines.get('stored history')).toMatchObject({
      state: 'pass',
      found: expect.stringContaining('0 behind the ledger end') as string,
    });
  });

  it('fails for an outdated schema with POSTGRES_MIGRATE=never and for a newer schema', async () => {
    const outdatedCheck = await check(env({ POSTGRES_MIGRATE: 'never' }));
    expect(outdatedCheck.get('schema')).toMatchObject({ state: 'fail', code: 'SCHEMA_OUTDATED' });
    await store();
    await query(database.url, `delete from ledger.schema_migrations where id like '0003%'`);
    expect((await check(env({ POSTGRES_MIGRATE: 'never' }))).get('schema')?.fix).toContain('ledger-indexer migrate');
    await query(database.url, `insert into ledger.schema_migrations (id) values ('9999_later')`);
    expect((await check(env())).get('schema')).toMatchObject({ state: 'fail', code: 'SCHEMA_NEWER' });
  });

  it('fails for a schema created with another INDEXER_EXERCISE_JSON', async () => {
    await store();
    const checkLine = (await check(env({ INDEXER_EXERCISE_JSON: 'json' }))).get('schema');
    expect(checkLine).toMatchObject({ state: 'fail', code: 'SCHEMA_EXERCISE_JSON' });
  });

  it('fails for a role that may not create a schema', async () => {
    const role = `check_${String(process.pid)}_${String(Date.now())}`;
    await query(database.url, `create role ${role} login password 'x'`);
    try {
      await query(database.url, `revoke create on database ${new URL(database.url).pathname.slice(1)} from public`);
      const url = new URL(database.url);
      url.username = role;
      url.password = 'x';
      const lines = await check(env({ DATABASE_URL: url.href }));
      expect(lines.get('postgres rights')).toMatchObject({ state: 'fail', code: 'STORE_NOT_PERMITTED' });
      expect(lines.get('postgres rights')?.fix).toContain('grant create on database');
    } finally {
      await query(database.url, `drop role ${role}`);
    }
  });

  it('names the session that holds the writer lock', async () => {
    await store();
    const options = {
      ledgerUrl: sandbox.url,
      databaseUrl: database.url,
      schema: 'ledger',
      env: { LEDGER_TOKEN: readers },
    };
    await using daemon = startDaemon(options);
    await waitFor('the daemon writes', async () => {
      const rows = await query(database.url, `select from ledger.stream where writer like '%:${String(daemon.pid)}'`);
      return rows.length === 1 ? true : undefined;
    });
    const lines = await check(env());
    expect(lines.get('writer')?.found).toMatch(
      /^the writer lock is held by session \d+ of role "\w+", application "ledger-indexer lock", from .+, since /,
    );
    expect(lines.get('writer')?.found).toContain(`:${String(daemon.pid)}`);
  });

  it('fails for closed ports, and after --timeout for servers that do not respond', async () => {
    const closedCheck = await check({ LEDGER_URL: 'http://127.0.0.1:1', DATABASE_URL: 'postgres://a:b@127.0.0.1:1/c' });
    expect(failures(closedCheck)).toEqual(['ledger', 'postgres']);
    const sockets = new Set<Socket>();
    const silentServer = createTcpServer((socket) => sockets.add(socket));
    const address = await listenOnPort(silentServer);
    try {
      const variables = { LEDGER_URL: `http://${address}`, DATABASE_URL: `postgres://a:b@${address}/c` };
      // The server never responds, so only the limit ends the check.
      const lines = await check(variables, '--timeout', '2');
      expect(failures(lines)).toContain('ledger');
      expect(failures(lines)).toContain('postgres');
    } finally {
      for (const socket of sockets) socket.destroy();
      silentServer.close();
    }
  });
});
