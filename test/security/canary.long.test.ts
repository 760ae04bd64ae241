/**
 * The output of the program contains no token, password or payload while the ledger and the database fail.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Faults } from '../../packages/ledger-sandbox/src/faults/faults.ts';
import { startSandbox } from '../../packages/ledger-sandbox/src/demo/sandbox.ts';
import type { Sandbox } from '../../packages/ledger-sandbox/src/server/sandbox.ts';
import { generateHistory } from '../../packages/ledger-sandbox/src/demo/traffic.ts';
import { programInProcess } from '../cli/in-process.ts';
import { startDaemon, type Daemon } from '../e2e/runs/daemon.ts';
import { watchStored } from '../e2e/runs/stored.ts';
import { Canary, canaryWord } from '../support/canary.ts';
import { createTestDatabase, query, type TestDatabase } from '../support/database.ts';
import * as frames from '../support/frames.ts';
import { expiresIn, sharedSecret, token } from '../support/tokens.ts';

describe('token leak check', () => {
  const password = `pä"ss ${canaryWord()}`;
  it.each([
    ['plain', (text: string) => text],
    ['base64', (text: string) => Buffer.from(`in the middle ${text}!`).toString('base64')],
    ['base64', (text: string) => Buffer.from(`in the middle of ${text}!`).toString('base64url')],
    ['hex', (text: string) => `\\x${Buffer.from(text).toString('hex')}`],
    ['escaped', (text: string) => `?q=${encodeURIComponent(text)}`],
    ['json', (text: string) => JSON.stringify({ text })],
  ])('finds a secret in the form %s', (formName, write) => {
    const canary = new Canary({ tokens: [], passwords: [password], words: [] });
    canary.look('log', 'a harmless line');
    expect(canary.leaks()).toEqual([]);
    canary.look('log', `before ${write(password)} after`);
    expect(canary.leaks()).toContainEqual(expect.objectContaining({ where: 'log', what: 'password', form: formName }));
  });

  it('finds every part of a token except the header', () => {
    const canary = new Canary({ tokens: ['header-of-it.body-of-the-token.signature-of-it'], passwords: [], words: [] });
    canary.look('log', 'header-of-it');
    expect(canary.leaks()).toEqual([]);
    canary.look('log', 'body-of-the-token');
    canary.look('log', 'signature-of-it');
    expect(canary.leaks()).toHaveLength(2);
  });
});

describe('program under faults', () => {
  const secret = `a shared secret ${canaryWord()}`;
  const [password, wrongPassword, value, key, result] = Array.from({ length: 5 }, canaryWord) as [
    string,
    string,
    string,
    string,
    string,
  ];
  const role = `canary_role_${canaryWord()}`;
  let sandbox: Sandbox;
  let database: TestDatabase;
  let validToken: string;
  let forgedToken: string;
  let canary: Canary;
  let caseNumber = 0;

  beforeAll(async () => {
    const users = [{ id: 'reader', rights: [{ kind: 'CanReadAsAnyParty' as const }] }];
    sandbox = await startSandbox({
      auth: { secret, users, maxTokenLifetimeMs: 7_200_000 },
      limits: { checkpointIntervalMs: 50 },
    });
    generateHistory(sandbox.ledger, { seed: 3, updates: 200 });
    const claims = { sub: 'reader', exp: expiresIn(3_600_000) };
    validToken = await token(sharedSecret(secret), claims);
    forgedToken = await token(sharedSecret('another'), claims);
    canary = new Canary({
      tokens: [validToken, forgedToken],
      passwords: [password, wrongPassword, secret],
      words: [value, key, result],
    });
    database = await createTestDatabase();
    await query(database.url, `create role "${role}" login superuser password '${password}'`);
    appendSecrets();
  });
  afterAll(async () => {
    await sandbox.close();
    await database.drop();
    await query(process.env['TEST_POSTGRES_URL'] ?? '', `drop role if exists "${role}"`);
  });

  /** Appends a contract and an exercise on it, with secrets in all contents. */
  function appendSecrets(): number {
    caseNumber += 1;
    const createArgument = { [key]: value, list: [value, { [key]: value }] };
    const contractId = `00canary${caseNumber}`;
    const createdFrame = frames.created({ contractId, createArgument: createArgument, contractKey: { [key]: value } });
    const exercisedFrame = frames.exercised({
      contractId,
      choiceArgument: createArgument,
      exerciseResult: { text: result },
      consuming: false,
    });
    const offset = sandbox.ledger.ledgerEnd() + 1;
    const events = [{ CreatedEvent: { ...createdFrame, offset } }, { ExercisedEvent: { ...exercisedFrame, offset } }];
    return sandbox.ledger.appendRaw(JSON.stringify(frames.transaction(offset, events)), offset);
  }

  function urlWith(databasePassword: string): string {
    const url = new URL(database.url);
    [url.username, url.password] = [role, databasePassword];
    return url.href;
  }

  const envOf = (access = validToken, databasePassword = password): Record<string, string> => ({
    LEDGER_URL: sandbox.url,
    LEDGER_TOKEN: access,
    DATABASE_URL: urlWith(databasePassword),
    INDEXER_LOG_LEVEL: 'trace',
    INDEXER_API: 'true',
  });

  function start(env: Readonly<Record<string, string>> = envOf()): Daemon {
    return startDaemon({ ledgerUrl: sandbox.url, databaseUrl: urlWith(password), schema: 'ledger', env });
  }

  const parkedMessage = 'parked: an operator is needed';
  const recoverableFaults: readonly Faults[] = [
    { cut: { path: '/v2/updates', times: 2 } },
    { reset: { path: '/v2/updates', times: 2 } },
    { cutMidFrame: { path: '/v2/updates', times: 2 } },
    { close: { path: '/v2/updates', code: 1011, times: 1 } },
    { streamFailure: { path: '/v2/updates', failure: 'ACCESS_TOKEN_EXPIRED', times: 1 } },
    { duplicateUpdates: { path: '/v2/updates', times: 1 } },
    { splitFrames: { path: '/v2/updates', times: 2 } },
  ];

  it('prints no secret while it seeds, follows and recovers', { timeout: 120_000 }, async () => {
    await using stored = await watchStored(database.url);
    await using daemon = start();
    await stored.reaches(daemon, 'ledger', sandbox.ledger.ledgerEnd(), 20_000);
    for (const fault of recoverableFaults) {
      Object.assign(sandbox.faults, fault);
      await stored.reaches(daemon, 'ledger', appendSecrets());
      await stored.reaches(daemon, 'ledger', appendSecrets());
    }
    // The program prints error texts of a participant unchanged, except that tokens are removed.
    const body = { code: 'NOVEL', cause: `refused ${validToken}`, context: { [key]: value }, grpcCodeValue: 14 };
    sandbox.faults.errorFrameOnce = { body };
    await stored.reaches(daemon, 'ledger', appendSecrets());
    const content = JSON.stringify({ ...body, cause: `Bearer ${forgedToken}` });
    sandbox.faults.answer = { as: { status: 500, type: 'application/json', content }, times: 3 };
    sandbox.faults.cut = { path: '/v2/updates', times: 1 };
    await stored.reaches(daemon, 'ledger', appendSecrets());
    for (let kill = 0; kill < 5; kill += 1) {
      const end = `select pg_terminate_backend(pid) from pg_stat_activity where usename = '${role}'`;
      await stored.client.query(end);
      await stored.reaches(daemon, 'ledger', appendSecrets());
    }
    await canary.lookAt('recovering', daemon);
    expect(daemon.output()).toContain('backing off');
    daemon.signal('SIGTERM');
    expect(await daemon.exited).toMatchObject({ code: 0 });
    canary.look('recovering: to its end', daemon.output());
    expect(canary.leaks()).toEqual([]);
  });

  /** Faults after which the program parks. */
  const lastingFaults: readonly (readonly [string, () => Promise<Faults>])[] = [
    ['a frame that is not JSON', async () => ({ invalidJson: { path: '/v2/updates', times: 2 } })],
    ['a frame without contract ids', async () => ({ dropKeys: { path: '/v2/updates', keys: ['contractId'] } })],
    ['a row that Postgres rejects and quotes', injectSecretFaults],
    ['a forged token', async () => ({})],
    ['a wrong password', async () => ({})],
  ];

  async function injectSecretFaults(): Promise<Faults> {
    const check = `check (payload ->> '${key}' is null or "offset" < ${sandbox.ledger.ledgerEnd()})`;
    await query(database.url, `alter table ledger.contracts add constraint poisoned ${check} not valid`);
    return {};
  }

  it.each(lastingFaults)(
    'prints no secret when it parks because of %s',
    { timeout: 120_000 },
    async (name, prepare) => {
      const env = envOf(
        name.includes('forged') ? forgedToken : validToken,
        name.includes('wrong') ? wrongPassword : password,
      );
      await using daemon = start(env);
      if (env['LEDGER_TOKEN'] === validToken && env['DATABASE_URL'] === urlWith(password)) {
        await daemon.logged('live');
        Object.assign(sandbox.faults, await prepare());
        appendSecrets();
      }
      // A wrong password is retried for a while, because a changed password may still be propagating.
      const end = name.includes('wrong') ? 'store failed, trying again' : parkedMessage;
      await daemon.logged(end);
      await canary.lookAt(name, daemon);
      await daemon.kill();
      delete sandbox.faults.dropKeys;
      await query(database.url, 'alter table ledger.contracts drop constraint if exists poisoned');
      expect(canary.leaks()).toEqual([]);
    },
  );

  /** Output of a command, which may fail. */
  async function run(args: readonly string[], env: Readonly<Record<string, string>>): Promise<string> {
    const { stdout, stderr } = await programInProcess(args, env);
    return stdout + stderr;
  }

  it('prints no secret in command output and errors', { timeout: 240_000 }, async () => {
    const verbs = [['config'], ['config', '--json'], ['status'], ['migrate'], ['views', 'list'], ['ledger', 'end']];
    for (const env of [envOf(), envOf(forgedToken, wrongPassword)]) {
      for (const verb of verbs) {
        const text = await run(verb, env);
        const commandText = verb.join(' ');
        expect(text, commandText).not.toBe('');
        canary.look(commandText, text);
      }
    }
    expect(canary.leaks()).toEqual([]);
    const { texts, characters } = canary.looked();
    process.stdout.write(`canary: ${texts} texts, ${characters} characters, ${canary.leaks().length} leaks\n`);
    expect(texts).toBeGreaterThan(10);
  });
});
