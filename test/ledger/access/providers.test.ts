/**
 * Tests each row of the table of identity providers in docs/how-to/run/access-tokens.md, with a provider that behaves
 * as described in the row.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../../src/config/config.ts';
import { IndexerError } from '../../../src/errors/indexer-error.ts';
import { readClientKey } from '../../../src/ledger/access/client-key.ts';
import { createOAuthTokenSource } from '../../../src/ledger/access/oauth.ts';
import { createLogger } from '../../../src/observe/log/logger.ts';
import { stopClock } from '../../support/chance/clock.ts';
import { secretFile } from '../../support/secret-file.ts';
import { rowsOfAnswers } from './provider-answers.ts';
import { rowsOfRequests } from './provider-requests.ts';
import type { ExpectedFailure, ExpectedToken, ProviderRow, RowRun } from './provider-row.ts';
import { registeredClient, startProvider, type Answer, type Provider } from './providers.ts';

const groups = { ...rowsOfRequests, ...rowsOfAnswers };

/** The OAuth options as the configuration reads them. */
function oauthOf({ options = {} }: ProviderRow, provider: Provider, path: string) {
  const { oauth } = loadConfig({
    LEDGER_URL: 'http://127.0.0.1:1',
    LEDGER_OAUTH_ISSUER: `${provider.issuer}${options.issuerSlash === true ? '/' : ''}`,
    LEDGER_OAUTH_CLIENT_ID: provider.client.id,
    [options.key === undefined ? 'LEDGER_OAUTH_CLIENT_SECRET_FILE' : 'LEDGER_OAUTH_CLIENT_KEY_FILE']: path,
    LEDGER_OAUTH_CLIENT_KEY_ID: options.keyId,
    LEDGER_OAUTH_AUDIENCE: options.audience,
    LEDGER_OAUTH_SCOPE: options.scope,
  }).ledger;
  if (oauth === undefined) throw new Error('expected OAuth to be configured');
  return oauth;
}

async function runOf(row: ProviderRow, provider: Provider): Promise<RowRun> {
  const clock = stopClock();
  const path = secretFile(row.options?.key ?? provider.client.secret);
  const oauth = oauthOf(row, provider, path);
  const { clientKeyFile, clientKeyId } = oauth;
  const source = createOAuthTokenSource({
    ...oauth,
    clientKey: clientKeyFile === undefined ? undefined : await readClientKey(clientKeyFile, clientKeyId),
    insecure: false,
    // The timeout makes the test fail if the request hangs.
    timeoutSeconds: 60,
    pause: async (ms) => {
      clock.advance(ms);
      await Promise.resolve();
    },
  });
  return { provider, source, credentialFile: path, clock };
}

async function expectToken(run: RowRun, { requests, lifeSeconds, after: checkAfter }: ExpectedToken): Promise<void> {
  const requestedAt = performance.now();
  const lease = await run.source.lease();
  expect(lease?.token).toBeTruthy();
  expect(run.provider.tokenRequests).toHaveLength(requests);
  if (lifeSeconds === 'unknown') expect(lease?.endsAt).toBeUndefined();
  // The last second is not counted, because timestamps are rounded to seconds.
  else if (lifeSeconds !== undefined) expect(lease?.endsAt).toBeCloseTo(requestedAt + (lifeSeconds - 1) * 1000);
  await checkAfter?.(run);
}

async function failureOf(promise: Promise<unknown>): Promise<IndexerError> {
  const caughtError = await promise.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (caughtError instanceof IndexerError) return caughtError;
  throw new Error(`expected an IndexerError, found ${String(caughtError)}`);
}

/** All text of a failure that an operator may see. */
async function visibleTextOf(error: IndexerError): Promise<string> {
  let logText = '';
  const stream = new Writable({
    write: (chunk: Buffer, _encoding, callback) => {
      logText += chunk.toString('utf8');
      callback();
    },
  });
  createLogger({ level: 'trace', format: 'json', stream }).logger.error({ err: error }, 'backing off');
  await new Promise((resolve) => stream.end(resolve));
  expect(logText).toContain(error.code);
  return `${logText} ${error.message} ${error.stack ?? ''} ${error.remedy} ${JSON.stringify(error.facts)}`;
}

async function expectFailure(run: RowRun, expected: ExpectedFailure, secret: string): Promise<void> {
  const failure = await failureOf(run.source.read());
  expect(failure.message).toMatch(expected.message);
  const isRefusal = expected.code === 'LEDGER_TOKEN_REFUSED';
  expect(failure).toMatchObject({ code: expected.code, retry: isRefusal ? 'park' : 'retry' });
  expect(failure.cause).toBeUndefined();
  expect(failure.remedy).toContain(
    isRefusal ? 'check client id, client secret or key, scope and audience' : 'check the address',
  );
  expect(failure.facts['retryAfterSeconds']).toBe(expected.retryAfterSeconds);
  const visibleText = await visibleTextOf(failure);
  expect(visibleText).not.toContain(secret);
  expect(visibleText).not.toContain(Buffer.from(`${registeredClient.id}:${secret}`).toString('base64'));
  for (const { form: formParameters } of run.provider.tokenRequests) {
    // A form without an assertion contains no secret.
    const [, claims = 'none', signature = 'none'] = formParameters.get('client_assertion')?.split('.') ?? [];
    if (claims === 'none') continue;
    expect(visibleText).not.toContain(claims);
    expect(visibleText).not.toContain(signature);
  }
  await expected.after?.(run);
}

describe.each(Object.entries(groups))('OAuth token source (%s)', (_group, rows) => {
  it.each(rows.map((row) => [row.provider, row] as const))(
    'behaves as documented for this provider: %s',
    async (_name, row) => {
      await using provider = await startProvider(row.behavior);
      const run = await runOf(row, provider);
      if ('requests' in row.expected) await expectToken(run, row.expected);
      else await expectFailure(run, row.expected, (row.behavior.client ?? registeredClient).secret);
    },
  );
});

it('loadConfig() rejects a client secret with non-ASCII characters', () => {
  const env = { LEDGER_OAUTH_ISSUER: 'https://id.example', LEDGER_OAUTH_CLIENT_ID: 'indexer' };
  expect(() => loadConfig({ ...env, LEDGER_OAUTH_CLIENT_SECRET: 'geheim-ü' })).toThrow(
    /LEDGER_OAUTH_CLIENT_SECRET: expected a client secret of printable characters, got a different value \(not printed/u,
  );
});

it('the OAuth token source waits for Retry-After, but not longer than the old token is valid', async () => {
  const busy = (seconds: string): Answer => ({ status: 429, headers: { 'retry-after': seconds } });
  const waits = ['20', '3600'];
  await using provider = await startProvider({
    first: ({ number }) => (number === 1 ? undefined : busy(waits[number - 2] ?? '0')),
  });
  const row = { provider: '', indexer: '', behavior: {}, expected: { requests: 1 } };
  const { source, clock } = await runOf(row, provider);
  const { renewAt = 0, endsAt = 0 } = (await source.lease()) ?? {};
  clock.advance(renewAt - performance.now());
  const first = await source.lease();
  expect(first?.problem?.facts['retryAfterSeconds']).toBe(20);
  expect(first?.renewAt).toBeCloseTo(renewAt + 20_000);
  clock.advance(20_000);
  expect((await source.lease())?.renewAt).toBeCloseTo(endsAt);
});

it('docs/how-to/run/access-tokens.md lists the same provider rows as this test', () => {
  const text = readFileSync(join(import.meta.dirname, '../../../docs/how-to/run/access-tokens.md'), 'utf8');
  const table = /<!-- identity providers -->\n([^]*?)\n<!-- \/identity providers -->/u.exec(text)?.[1] ?? '';
  const found = table
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .slice(2)
    .map((line) =>
      line
        .split('|')
        .slice(1, 3)
        .map((cell) => cell.trim()),
    );
  expect(found).toEqual(Object.values(groups).flatMap((rows) => rows.map((row) => [row.provider, row.indexer])));
});
