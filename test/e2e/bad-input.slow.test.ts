/**
 * Every kind of wrong input leads to one clear error with its remedy. The program ends with the right exit code, or the
 * indexer parks and reports this at `/status` and `/readyz`. Nothing is written, and no run prints a secret.
 */
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startSandbox } from '../../packages/ledger-sandbox/src/demo/sandbox.ts';
import { generateHistory } from '../../packages/ledger-sandbox/src/demo/traffic.ts';
import { startFakeLedger, type FakeLedger } from '../ledger/fake-ledger.ts';
import { createTestDatabase, dropDatabase, query, type TestDatabase } from '../support/database.ts';
import { waitFor } from '../support/wait-for.ts';
import {
  runCommandToEnd,
  allOutput,
  rowsStored,
  runToEnd,
  schema,
  startInProcess,
  startRun,
  type ProcessResult,
  type RunningIndexer,
} from './runs/bad-input-run.ts';

const canaryToken = 'canary-token-5b1f';
const canaryPassword = 'canary-password-77c2';
let database: TestDatabase;

beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

/** A closed local port (9, discard). */
const closedLedgerUrl = 'http://127.0.0.1:9';

/** The environment of a run whose ledger is the input under test. */
function ledgerEnv(url: string, extraEnv: Record<string, string> = {}): Record<string, string> {
  return { DATABASE_URL: database.url, LEDGER_URL: url, LEDGER_TOKEN: canaryToken, ...extraEnv };
}

/** The environment of a run whose database is the input under test. */
function databaseEnv(url: string): Record<string, string> {
  return { DATABASE_URL: url, LEDGER_URL: closedLedgerUrl, LEDGER_TOKEN: canaryToken };
}

/** Waits for the state, and checks that every surface for operators names the code and the remedy. */
async function expectState(
  state: 'parked' | 'backing_off',
  code: string,
  env: Record<string, string>,
  pattern: RegExp,
  start: (env: Record<string, string>) => RunningIndexer | Promise<RunningIndexer> = startInProcess,
): Promise<void> {
  await using run = await start(env);
  const status = await waitFor(`state ${state} because of ${code}`, async () => {
    const { body } = await run.get('/status');
    return body['state'] === state ? body : undefined;
  });
  expect(status['reason']).toContain(code);
  expect(status['lastError']).toMatchObject({ code });
  expect(status['checkpoint']).toBeNull();
  expect(await run.get('/readyz')).toMatchObject({ status: 503, body: { ready: false, state } });
  expect(await run.get('/livez')).toMatchObject({ status: 200, body: { live: true } });
  const loggedError = run.lines().find(({ err }) => err?.code === code)?.err;
  expect(loggedError?.message).toMatch(pattern);
  expect(loggedError?.message).not.toContain('\n');
  expect(loggedError?.remedy).toMatch(/\w+ \w+/);
  if (state === 'parked') {
    expect(run.lines().filter(({ msg }) => msg === 'parked: an operator is needed')).toHaveLength(1);
  }
}

/** Checks that stderr has one line with the code and one line with the remedy, and nothing more. */
function expectRefusal(processResult: ProcessResult, exitCode: number, code: string, pattern: RegExp): void {
  expect(processResult.stderr).toMatch(pattern);
  const [first, second, ...remainingLines] = processResult.stderr.trimEnd().split('\n');
  expect(first).toContain(`ledger-indexer: ${code}: `);
  expect(second).toMatch(/^ {2}what to do: \w+ /);
  expect(remainingLines).toEqual([]);
  expect(processResult.code).toBe(exitCode);
}

async function fakeLedger(refusal: object): Promise<FakeLedger & AsyncDisposable> {
  const responsesByUrl: Record<string, object> = {
    '/v2/parties/participant-id': { participantId: 'participant1::1220ab' },
    '/v2/state/ledger-end': { offset: 7 },
    '/v2/state/latest-pruned-offsets': {
      participantPrunedUpToInclusive: 0,
      allDivulgedContractsPrunedUpToInclusive: 0,
    },
  };
  const ledger = await startFakeLedger({
    http: (request, response) => response.end(JSON.stringify(responsesByUrl[request.url ?? ''] ?? {})),
    socket: (socket) => {
      socket.send(JSON.stringify(refusal));
      socket.close(1000);
    },
  });
  return { ...ledger, [Symbol.asyncDispose]: () => ledger.stop() };
}

describe('indexer with an unusable ledger', () => {
  it('parks without writes if the URL is a web server that is not a ledger', async () => {
    const web = await startFakeLedger({ http: (_request, response) => response.end('<html>welcome</html>') });
    try {
      await expectState('parked', 'LEDGER_NOT_A_LEDGER', ledgerEnv(web.url), /expected JSON from \/v2\//);
    } finally {
      await web.stop();
    }
    expect(await rowsStored(database.url)).toBe(0);
  });

  it('parks without writes if the path of the URL is wrong', async () => {
    await using sandbox = await startSandbox({});
    await expectState('parked', 'LEDGER_NOT_A_LEDGER', ledgerEnv(`${sandbox.url}/wrong`), /HTTP 404/);
    expect(await rowsStored(database.url)).toBe(0);
  });

  it('retries without writes if the port is closed', async () => {
    await expectState(
      'backing_off',
      'LEDGER_UNREACHABLE',
      ledgerEnv(closedLedgerUrl),
      /cannot reach 127\.0\.0\.1:9.*ECONNREFUSED/,
    );
    expect(await rowsStored(database.url)).toBe(0);
  });

  it('parks without writes if the URL is https and the port is plain http', async () => {
    await using sandbox = await startSandbox({});
    const url = sandbox.url.replace('http:', 'https:');
    await expectState('parked', 'LEDGER_TLS', ledgerEnv(url), /talking to 127\.0\.0\.1:\d+ failed/);
    expect(await rowsStored(database.url)).toBe(0);
  });

  it('parks without writes after retries with a rejected token', async () => {
    await using sandbox = await startSandbox({ token: 'another' });
    generateHistory(sandbox.ledger, { seed: 1, updates: 20 });
    await expectState('parked', 'LEDGER_UNAUTHENTICATED', ledgerEnv(sandbox.url), /security-sensitive/, startRun);
    expect(await rowsStored(database.url)).toBe(0);
  });

  it('parks without writes if the token has no rights for the party', async () => {
    const refusal = { code: 'NA', cause: 'A security-sensitive error has been received', errorCategory: -1 };
    await using ledger = await fakeLedger({ ...refusal, grpcCodeValue: 7, context: {}, resources: [] });
    const env = ledgerEnv(ledger.url, { LEDGER_PARTIES: 'alice::1220ab' });
    await expectState('parked', 'LEDGER_PERMISSION_DENIED', env, /security-sensitive/);
    expect(await rowsStored(database.url)).toBe(0);
  });

  it('parks without writes if the filter names an unknown package', async () => {
    await using ownDatabase = await createTestDatabase();
    await using sandbox = await startSandbox({});
    generateHistory(sandbox.ledger, { seed: 1, updates: 20 });
    const env = {
      ...ledgerEnv(sandbox.url, { LEDGER_TEMPLATES: '#no-such-package:Main:Thing' }),
      DATABASE_URL: ownDatabase.url,
    };
    await expectState('parked', 'LEDGER_FILTER_UNKNOWN', env, /no-such-package/);
    expect(await rowsStored(ownDatabase.url)).toBe(0);
  });

  it('exits with 78 if the token would be sent in clear text to another machine', async () => {
    const processResult = await runCommandToEnd(ledgerEnv('http://ledger.example.org:7575'), ['run']);
    expectRefusal(
      processResult,
      78,
      'LEDGER_TOKEN_INSECURE',
      /will not send the token in clear text to ledger\.example\.org/,
    );
    expect(await rowsStored(database.url)).toBe(0);
  });
});

describe('indexer with an unusable database', () => {
  it('exits with 77 and names the missing grant if the role may not create the schema', async () => {
    await using ownDatabase = await createTestDatabase();
    const role = `limited_${randomBytes(6).toString('hex')}`;
    await query(ownDatabase.url, `create role ${role} login password '${canaryPassword}'`);
    try {
      const url = new URL(ownDatabase.url);
      url.username = role;
      url.password = canaryPassword;
      const processResult = await runToEnd(databaseEnv(url.href));
      expectRefusal(processResult, 77, 'STORE_NOT_PERMITTED', new RegExp(`role "${role}".*lacks create on database`));
      expect(processResult.stderr).toContain(`to "${role}"`);
      expect(await query(ownDatabase.url, `select from pg_namespace where nspname = '${schema}'`)).toEqual([]);
    } finally {
      await query(ownDatabase.url, `drop role ${role}`);
    }
  });

  it('parks if the database does not exist', async () => {
    const url = new URL(database.url);
    url.pathname = '/no_such_database';
    await expectState('parked', 'STORE_DATABASE_MISSING', databaseEnv(url.href), /does not exist.*3D000/);
  });

  it('retries if the password is wrong', async () => {
    const url = new URL(database.url);
    url.password = canaryPassword;
    await expectState('backing_off', 'STORE_PASSWORD_REFUSED', databaseEnv(url.href), /password/, startRun);
  });

  it('retries if the database port is closed', async () => {
    const env = databaseEnv(`postgres://indexer:${canaryPassword}@127.0.0.1:9/ledger`);
    await expectState('backing_off', 'STORE_UNREACHABLE', env, /cannot be reached at 127\.0\.0\.1:9 \(ECONNREFUSED\)/);
  });

  it('exits with 78 and creates nothing if the database encoding is not UTF8', async () => {
    const name = `ascii_${randomBytes(6).toString('hex')}`;
    const provider = `encoding 'SQL_ASCII' locale_provider libc locale 'C' template template0`;
    await query(database.url, `create database ${name} ${provider}`);
    try {
      const url = new URL(database.url);
      url.pathname = `/${name}`;
      const processResult = await runCommandToEnd(databaseEnv(url.href), ['run']);
      expectRefusal(
        processResult,
        78,
        'STORE_ENCODING_UNSUPPORTED',
        new RegExp(`"${name}" stores SQL_ASCII, UTF8 is needed`),
      );
      expect(await query(url.href, `select from pg_namespace where nspname = '${schema}'`)).toEqual([]);
    } finally {
      await dropDatabase(database.url, name);
    }
  });

  it('exits with 78 and stores nothing if a newer version created the schema', async () => {
    await using ownDatabase = await createTestDatabase();
    await runCommandToEnd(databaseEnv(ownDatabase.url), ['migrate']);
    await query(ownDatabase.url, `insert into ${schema}.schema_migrations (id) values ('9999_from_the_future')`);
    const processResult = await runCommandToEnd(databaseEnv(ownDatabase.url), ['run']);
    expectRefusal(processResult, 78, 'SCHEMA_NEWER', /9999_from_the_future/);
    expect(await rowsStored(ownDatabase.url)).toBe(0);
  });

  it('exits with 78 if the schema has another INDEXER_EXERCISE_JSON', async () => {
    await using ownDatabase = await createTestDatabase();
    await runCommandToEnd({ ...databaseEnv(ownDatabase.url), INDEXER_EXERCISE_JSON: 'json' }, ['migrate']);
    for (const migrate of ['auto', 'never']) {
      const env = { ...databaseEnv(ownDatabase.url), INDEXER_EXERCISE_JSON: 'jsonb', POSTGRES_MIGRATE: migrate };
      expectRefusal(
        await runCommandToEnd(env, ['run']),
        78,
        'SCHEMA_EXERCISE_JSON',
        /as json, and INDEXER_EXERCISE_JSON is jsonb/,
      );
    }
    expect(await rowsStored(ownDatabase.url)).toBe(0);
  });
});

describe('program with invalid input', () => {
  it('exits with 78 and lists all configuration problems at once', async () => {
    const processResult = await runToEnd({
      LEDGER_URL: 'ledger.example.org',
      LEDGER_TOKEN: `${canaryToken} with blanks`,
      DATABASE_URL: `mysql://indexer:${canaryPassword}@db/ledger`,
      INDEXER_BATCH_UPDATES: 'many',
      INDEXER_HTTP_PROT: '7580',
    });
    expect(processResult.code).toBe(78);
    expect(processResult.stdout).toBe('');
    expect(processResult.stderr).toContain('ledger-indexer: CONFIGURATION_INVALID: the configuration has 5 problems:');
    expect(processResult.stderr).toContain('LEDGER_URL: expected an http:// or https:// address');
    expect(processResult.stderr).toContain('LEDGER_TOKEN: expected a token without blanks');
    expect(processResult.stderr).toContain('DATABASE_URL: expected postgres://');
    expect(processResult.stderr).toMatch(/INDEXER_BATCH_UPDATES: expected an integer between \d+ and \d+, got "many"/);
    expect(processResult.stderr).toMatch(/INDEXER_HTTP_PROT: no such variable.*INDEXER_HTTP_PORT/);
    expect(processResult.stderr).toContain('what to do: correct the listed values');
  });

  it('exits with 2 and suggests the nearest command if the command does not exist', async () => {
    const processResult = await runToEnd({}, ['indx']);
    expect(processResult.code).toBe(2);
    expect(processResult.stderr).toContain('there is no command "indx"');
    expect(processResult.stderr).toMatch(/did you mean index.*ledger-indexer --help/is);
  });

  it('exits with 78 before it writes to the database if another process uses its HTTP port', async () => {
    await using ownDatabase = await createTestDatabase();
    const otherServer = createServer();
    await new Promise<void>((resolve) => otherServer.listen(0, '127.0.0.1', resolve));
    try {
      const port = String((otherServer.address() as AddressInfo).port);
      const processResult = await runToEnd({
        ...databaseEnv(ownDatabase.url),
        INDEXER_HTTP_HOST: '127.0.0.1',
        INDEXER_HTTP_PORT: port,
      });
      const processText = process.platform === 'linux' ? `process ${String(process.pid)} \\(.+\\)` : 'another process';
      expectRefusal(
        processResult,
        78,
        'HTTP_PORT_TAKEN',
        new RegExp(`127\\.0\\.0\\.1:${port}: ${processText} listens there`),
      );
      expect(await query(ownDatabase.url, `select from pg_namespace where nspname = '${schema}'`)).toEqual([]);
    } finally {
      otherServer.close();
    }
  });
});

describe('secrets', () => {
  it('are not printed by the config command', async () => {
    const env = {
      LEDGER_URL: 'https://ledger.example.org',
      LEDGER_TOKEN: canaryToken,
      DATABASE_URL: `postgres://indexer:${canaryPassword}@db/ledger`,
    };
    const table = await runCommandToEnd(env, ['config']);
    expect(table.code).toBe(0);
    expect(table.stdout).toContain('[set]');
    expect(table.stdout).toContain('indexer:***@db');
    expect((await runCommandToEnd(env, ['config', '--json'])).code).toBe(0);
  });

  it('are not in the output of any run in this file', () => {
    const output = allOutput();
    expect(output.length).toBeGreaterThan(5_000);
    expect(output).not.toContain(canaryToken);
    expect(output).not.toContain(canaryPassword);
    expect(output).not.toContain(new URL(database.url).password || 'no password in use');
  });
});
