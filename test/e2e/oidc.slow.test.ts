/**
 * Tokens with a lifetime of two seconds, from a real OpenID Connect provider to a ledger that checks them with every
 * element. The stream is renewed repeatedly, and the rows are those of an undisturbed indexer.
 * OIDC_RENEWALS=60 runs the long version.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startSandbox } from '../../packages/ledger-sandbox/src/demo/sandbox.ts';
import type { Sandbox } from '../../packages/ledger-sandbox/src/server/sandbox.ts';
import { startTraffic } from '../../packages/ledger-sandbox/src/demo/traffic.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { digestOf } from '../support/digest.ts';
import { audience, clientId, clientSecret, startOidc, type Oidc } from '../support/oidc.ts';
import { pause, waitFor } from '../support/wait-for.ts';
import { runIndexer, type IndexerRun } from './runs/indexer-run.ts';

const completionsFailed = 'completions cannot be followed, trying again: the stream continues';
const renewalCount = Number(process.env['OIDC_RENEWALS'] ?? 8);

let oidc: Oidc;
let sandbox: Sandbox;
let database: TestDatabase;
beforeEach(async () => {
  oidc = await startOidc({ tokenSeconds: 2 });
  sandbox = await startSandbox({
    auth: {
      jwksUrl: oidc.jwksUrl,
      audience,
      users: [{ id: clientId, rights: [{ kind: 'CanReadAsAnyParty' }] }],
    },
    // This interval lets a stream without updates also detect that its token has expired.
    limits: { checkpointIntervalMs: 300 },
  });
  database = await createTestDatabase();
});
afterEach(async () => {
  await sandbox.close();
  await oidc.stop();
  await database.drop();
});

function run(schema: string, env: Readonly<Record<string, string>> = {}): Promise<IndexerRun> {
  return runIndexer({
    LEDGER_URL: sandbox.url,
    DATABASE_URL: database.url,
    POSTGRES_SCHEMA: schema,
    INDEXER_START: 'genesis',
    LEDGER_OAUTH_ISSUER: oidc.issuer,
    LEDGER_OAUTH_CLIENT_ID: clientId,
    LEDGER_OAUTH_CLIENT_SECRET: clientSecret,
    ...env,
  });
}

/** The rows of an indexer that receives everything during the lifetime of one token. */
async function undisturbedDigest(): Promise<string> {
  await using reference = await run('reference');
  await reference.reaches(sandbox.ledger.ledgerEnd());
  return digestOf(database.url, 'reference');
}

const waitForRenewals = (indexer: IndexerRun, times: number): Promise<true> =>
  waitFor(
    `${times} renewals`,
    async () => ((await indexer.metric('indexer_access_token_renewals_total')) >= times ? true : undefined),
    120_000 + times * 2_000,
  );

it('indexer reopens the completion stream with each new token before the old token expires', async () => {
  await using longTokenProvider = await startOidc({ tokenSeconds: 12 });
  await using ledger = await startSandbox({
    auth: {
      jwksUrl: longTokenProvider.jwksUrl,
      audience,
      users: [{ id: clientId, rights: [{ kind: 'CanReadAsAnyParty' }] }],
    },
    limits: { checkpointIntervalMs: 300 },
  });
  await using indexer = await run('completions', {
    LEDGER_URL: ledger.url,
    LEDGER_OAUTH_ISSUER: longTokenProvider.issuer,
  });
  // The participant checks the token with each element, so there must be elements.
  const traffic = startTraffic(ledger.ledger, { seed: 6, updatesPerSecond: 20 });
  // The second renewal happens after the first token has expired.
  await waitForRenewals(indexer, 2);
  traffic.stop();
  // On a slow machine, completions may be as late as the stream itself.
  const backingOffLine = indexer.logged('backing off');
  expect(indexer.logged(completionsFailed)).toBeLessThanOrEqual(backingOffLine);
  await indexer.completionsReach(ledger.ledger.ledgerEnd());
});

describe('indexer with two-second tokens', () => {
  it(
    `stores all updates without gaps or duplicates over ${renewalCount} token renewals`,
    async () => {
      const startedAt = Date.now() / 1000;
      await using indexer = await run('renewed');
      await waitFor('the indexer is live', async () => ((await indexer.status()).state === 'live' ? true : undefined));
      const traffic = startTraffic(sandbox.ledger, { seed: 5, updatesPerSecond: 200 });
      // Half of the renewals happen while the ledger is quiet, because they must not depend on updates.
      await waitForRenewals(indexer, renewalCount / 2);
      traffic.stop();
      await waitForRenewals(indexer, renewalCount);
      const renewals = await indexer.metric('indexer_access_token_renewals_total');
      const updates = await indexer.metric('indexer_updates_total{kind="transaction"}');
      await indexer.reaches(sandbox.ledger.ledgerEnd());
      const backingOffLine = indexer.logged('backing off');
      const counts = `${oidc.tokenRequests.length} tokens, ${renewals} renewals (${backingOffLine} too late)`;
      console.log(`${counts}, ${updates} transactions`);
      expect(updates).toBeGreaterThan(0);
      const expiry = await indexer.metric('indexer_access_token_expiry_timestamp_seconds');
      expect(expiry).toBeGreaterThan(startedAt);
      expect(indexer.logged('parked: an operator is needed')).toBe(0);
      expect(await digestOf(database.url, 'renewed')).toBe(await undisturbedDigest());
    },
    240_000 + renewalCount * 2_000,
  );

  it('resumes after a provider outage that is longer than the token lifetime', async () => {
    await using indexer = await run('outage');
    // First the indexer needs a token and a stream that it can lose.
    await waitFor('the indexer is live', async () => ((await indexer.status()).state === 'live' ? true : undefined));
    const traffic = startTraffic(sandbox.ledger, { seed: 6, updatesPerSecond: 100 });
    await pause(1_000);
    oidc.answerWith = (_request, response) => response.writeHead(503, { 'content-type': 'text/html' }).end('<html>');
    await waitFor('a session without any good token', () =>
      indexer.log.some((line) => /backing off/.test(line) && /LEDGER_TOKEN_EXPIRED/.test(line)) ? true : undefined,
    );
    await waitFor('the provider is missed', async () => {
      const { lastError } = await indexer.status();
      return /LEDGER_TOKEN_PROVIDER_UNAVAILABLE/.test(JSON.stringify(lastError)) ? true : undefined;
    });
    oidc.answerWith = undefined;
    await pause(500);
    traffic.stop();
    await indexer.reaches(sandbox.ledger.ledgerEnd());
    expect(await digestOf(database.url, 'outage')).toBe(await undisturbedDigest());
  });

  it('parks if the provider rejects the client, and does not log the secret', async () => {
    await using indexer = await run('refused', { LEDGER_OAUTH_CLIENT_SECRET: `${clientSecret}-wrong` });
    await waitFor('the indexer parks', async () => ((await indexer.status()).state === 'parked' ? true : undefined));
    expect((await indexer.status()).lastError).toMatchObject({
      code: 'LEDGER_TOKEN_REFUSED',
      message: expect.stringContaining('refused: invalid_client') as unknown,
    });
    expect(indexer.log.join('')).not.toContain(clientSecret);
  });

  it('parks after two token renewals if the participant requires another audience', async () => {
    await sandbox.close();
    sandbox = await startSandbox({ auth: { jwksUrl: oidc.jwksUrl, audience: 'somebody-else' } });
    await using indexer = await run('audience');
    await waitFor('the indexer parks', async () => ((await indexer.status()).state === 'parked' ? true : undefined));
    expect((await indexer.status()).lastError).toMatchObject({ code: 'LEDGER_UNAUTHENTICATED' });
    expect(oidc.tokenRequests).toHaveLength(3);
  });
});
