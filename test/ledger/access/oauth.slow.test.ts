import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer as createHttpsServer } from 'node:https';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { IndexerError } from '../../../src/errors/indexer-error.ts';
import { loadConfig } from '../../../src/config/config.ts';
import { readClientKey } from '../../../src/ledger/access/client-key.ts';
import { createOAuthTokenSource, type OAuthOptions } from '../../../src/ledger/access/oauth.ts';
import { openAccess } from '../../../src/ledger/open-access.ts';
import type { TokenSource } from '../../../src/ledger/access/token.ts';
import { audience, clientId, clientSecret, startOidc, type Oidc } from '../../support/oidc.ts';
import { stopClock } from '../../support/chance/clock.ts';
import { secretFile } from '../../support/secret-file.ts';

let oidc: Oidc;
beforeEach(async () => {
  oidc = await startOidc({ tokenSeconds: 2 });
});
afterEach(() => oidc.stop());

function sourceOf(options: Partial<OAuthOptions> = {}): TokenSource {
  const endpoint = options.tokenUrl === undefined ? { issuer: oidc.issuer } : {};
  return createOAuthTokenSource({
    ...endpoint,
    clientId,
    clientSecret,
    scope: 'daml_ledger_api',
    insecure: false,
    // This is long enough for a busy machine.
    timeoutSeconds: 20,
    ...options,
  });
}

function claimsOf(token: string | undefined): Record<string, unknown> {
  const payload = Buffer.from(token?.split('.')[1] ?? '', 'base64url').toString('utf8');
  return JSON.parse(payload) as Record<string, unknown>;
}

async function failureOf(promise: Promise<unknown>): Promise<IndexerError> {
  const caughtError = await promise.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!(caughtError instanceof IndexerError)) throw new Error(`expected an IndexerError, found ${String(caughtError)}`);
  expect(`${caughtError.message} ${caughtError.stack ?? ''} ${JSON.stringify(caughtError.facts)}`).not.toContain(
    clientSecret,
  );
  expect(caughtError.cause).toBeUndefined();
  return caughtError;
}

describe('OAuth token source', () => {
  it('requests a token at the endpoint from the issuer metadata, with scope and audience', async () => {
    const token = await sourceOf({ audience: 'https://example.org/ledger' }).read();
    expect(claimsOf(token)).toMatchObject({ iss: oidc.issuer, aud: audience, scope: 'daml_ledger_api', sub: clientId });
    expect(Object.fromEntries(oidc.tokenRequests[0] ?? [])).toEqual({
      grant_type: 'client_credentials',
      scope: 'daml_ledger_api',
      audience: 'https://example.org/ledger',
    });
  });

  it('gets a token from a configured token endpoint', async () => {
    expect(claimsOf(await sourceOf({ tokenUrl: oidc.tokenUrl }).read())).toMatchObject({ iss: oidc.issuer });
  });

  it('shares one token between concurrent calls until 80 % of its lifetime has passed', async () => {
    const clock = stopClock();
    const source = sourceOf();
    const requestedAt = performance.now();
    const tokens = await Promise.all([source.read(), source.read(), source.lease().then((lease) => lease?.token)]);
    expect(new Set(tokens).size).toBe(1);
    const lease = await source.lease();
    expect(oidc.tokenRequests).toHaveLength(1);
    // The lifetime is two seconds. One second is guaranteed, because timestamps are rounded to seconds.
    const { renewAt = 0, endsAt = 0, expiresAt } = lease ?? {};
    expect(renewAt - requestedAt).toBeCloseTo(800);
    expect(endsAt - renewAt).toBeCloseTo(200);
    expect(expiresAt).toBe(claimsOf(lease?.token)['exp']);
    clock.advance(renewAt - requestedAt + 1);
    // A call uses the current token while it is valid. A new stream waits for a newer token.
    expect(await source.read()).toBe(lease?.token);
    expect((await source.lease())?.token).not.toBe(lease?.token);
    expect(oidc.tokenRequests).toHaveLength(2);
  });

  it('requests a new token after invalidate()', async () => {
    const source = sourceOf();
    const first = await source.read();
    expect(await source.read()).toBe(first);
    source.invalidate();
    expect(await source.read()).not.toBe(first);
  });

  it('delays the next request if the ledger rejects a token immediately', async () => {
    await using longTokenProvider = await startOidc({ tokenSeconds: 300 });
    const waitTimes: number[] = [];
    const source = sourceOf({ issuer: longTokenProvider.issuer, pause: async (ms) => void waitTimes.push(ms) });
    const clock = stopClock();
    for (let refusals = 0; refusals < 4; refusals += 1) {
      await source.read();
      source.invalidate();
      // The rejection is reported twice for the same token.
      source.invalidate();
    }
    expect(waitTimes).toEqual([2_000, 5_000, 5_000]);
    const otherSource = sourceOf({ issuer: longTokenProvider.issuer, pause: async (ms) => void waitTimes.push(ms) });
    await otherSource.read();
    clock.advance(10_000);
    otherSource.invalidate();
    await otherSource.read();
    expect(waitTimes).toHaveLength(3);
    // A short lifetime makes the delay shorter.
    const shortLeaseSource = sourceOf({ pause: async (ms) => void waitTimes.push(ms) });
    await shortLeaseSource.read();
    shortLeaseSource.invalidate();
    await shortLeaseSource.read();
    expect(waitTimes.at(-1)).toBeLessThanOrEqual(500);
  });

  it('uses the lifetime that the provider states, even if the local clock differs', async () => {
    const token = `e30.${Buffer.from('{"iat":1000,"exp":1300}').toString('base64url')}.s`;
    oidc.answerWith = (_request, response) => {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ access_token: token, token_type: 'Bearer', expires_in: 300 }));
    };
    stopClock();
    const requestedAt = performance.now();
    const lease = await sourceOf().lease();
    expect((lease?.renewAt ?? 0) - requestedAt).toBeCloseTo(0.8 * 299_000);
  });

  it('accepts a TLS provider only with a certificate of the configured authority', async () => {
    const folder = join(import.meta.dirname, '../../support/certificates');
    const pem = (name: string): string => readFileSync(join(folder, name), 'utf8');
    await using secure = await startOidc({
      protocol: 'https',
      server: (listener) => createHttpsServer({ cert: pem('server.pem'), key: pem('server-key.pem') }, listener),
    });
    const options = { issuer: secure.issuer };
    expect(claimsOf(await sourceOf({ ...options, ca: pem('ca.pem') }).read())).toMatchObject({ iss: secure.issuer });
    const failure = await failureOf(sourceOf(options).read());
    expect(failure).toMatchObject({ code: 'LEDGER_TOKEN_PROVIDER_UNAVAILABLE', retry: 'retry' });
    expect(failure.message).toContain('UNABLE_TO_VERIFY_LEAF_SIGNATURE');
  });
});

describe('OAuth token source with form secrets', () => {
  it.each(['both methods are listed', 'no method is listed'])(
    'switches to the form after one failed attempt if %s, and keeps using it',
    async (authMethods) => {
      await using formOnlyProvider = await startOidc({ tokenSeconds: 300, onlyForm: true });
      const source = sourceOf(
        authMethods === 'both methods are listed'
          ? { issuer: formOnlyProvider.issuer }
          : { tokenUrl: formOnlyProvider.tokenUrl },
      );
      expect(claimsOf(await source.read())).toMatchObject({ iss: formOnlyProvider.issuer });
      expect(formOnlyProvider.tokenRequests).toHaveLength(2);
      source.invalidate();
      await source.read();
      expect(formOnlyProvider.tokenRequests.map((request) => request.has('client_secret'))).toEqual([
        false,
        true,
        true,
      ]);
    },
  );

  it('rejects a wrong secret, and tries the second method only once', async () => {
    await using formOnlyProvider = await startOidc({ onlyForm: true });
    const source = sourceOf({ issuer: formOnlyProvider.issuer, clientSecret: 'wrong' });
    await expect(source.read()).rejects.toMatchObject({ code: 'LEDGER_TOKEN_REFUSED' });
    await expect(source.read()).rejects.toMatchObject({ code: 'LEDGER_TOKEN_REFUSED' });
    expect(formOnlyProvider.tokenRequests).toHaveLength(3);
  });
});

describe('OAuth token source with a client key', () => {
  const pairs = {
    RSA: () => generateKeyPairSync('rsa', { modulusLength: 2048 }),
    EC: () => generateKeyPairSync('ec', { namedCurve: 'P-256' }),
    Ed25519: () => generateKeyPairSync('ed25519'),
  };
  const jwkOf = ({ publicKey }: { readonly publicKey: KeyObject }) => publicKey.export({ format: 'jwk' });
  const optionsOf = async ({ privateKey }: { readonly privateKey: KeyObject }) => {
    const clientKeyFile = secretFile(privateKey.export({ type: 'pkcs8', format: 'pem' }).toString());
    return { clientKeyFile, clientKey: await readClientKey(clientKeyFile, undefined), clientSecret: undefined };
  };

  it.each(Object.entries(pairs))(
    'gets tokens from a discovered and a configured endpoint, with a key of type %s',
    async (_name, make) => {
      const pair = make();
      const options = await optionsOf(pair);
      await using keyed = await startOidc({ clientJwk: jwkOf(pair) });
      for (const endpoint of [{ issuer: keyed.issuer }, { tokenUrl: keyed.tokenUrl }]) {
        expect(claimsOf(await sourceOf({ ...options, ...endpoint }).read())).toMatchObject({ iss: keyed.issuer });
      }
      const sent = keyed.tokenRequests.map((request) => claimsOf(request.get('client_assertion') ?? ''));
      expect(sent.map((claims) => claims['aud'])).toEqual([keyed.issuer, keyed.tokenUrl]);
      expect(keyed.tokenRequests.some((request) => request.has('client_secret'))).toBe(false);
    },
  );

  it('reads the key from LEDGER_OAUTH_CLIENT_KEY_FILE', async () => {
    const pair = pairs.EC();
    await using keyed = await startOidc({ clientJwk: jwkOf(pair) });
    const { ledger } = loadConfig({
      LEDGER_OAUTH_ISSUER: keyed.issuer,
      LEDGER_OAUTH_CLIENT_ID: clientId,
      LEDGER_OAUTH_CLIENT_KEY_FILE: (await optionsOf(pair)).clientKeyFile,
    });
    const { tokenSource } = await openAccess(ledger, new AbortController().signal);
    expect(claimsOf(await tokenSource.read())).toMatchObject({ iss: keyed.issuer });
  });

  it('reports invalid_client if another public key is registered at the provider', async () => {
    await using keyed = await startOidc({ clientJwk: jwkOf(pairs.EC()) });
    const failure = await failureOf(sourceOf({ ...(await optionsOf(pairs.EC())), issuer: keyed.issuer }).read());
    expect(failure).toMatchObject({ code: 'LEDGER_TOKEN_REFUSED', facts: { oauthError: 'invalid_client' } });
  });
});

describe('OAuth error response', () => {
  it('is quoted in the error without secrets or control characters', async () => {
    oidc.answerWith = (_request, response) => {
      response.writeHead(400, { 'content-type': 'application/json' });
      const description = `AADSTS7000218: no \u001b[2J ${clientSecret} for eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0.abc`;
      response.end(JSON.stringify({ error: 'invalid_request', error_description: description }));
    };
    const { message } = await failureOf(sourceOf().read());
    expect(message).toContain('refused: invalid_request (AADSTS7000218: no ');
    expect(message).toContain('\\u001b[2J … for …)');
  });

  it.each([
    ['a wrong secret', { clientSecret: `${clientSecret}x` }, 'invalid_client'],
    ['an unknown client', { clientId: 'nobody' }, 'invalid_client'],
    ['a scope that the client may not have', { scope: 'daml_ledger_api admin' }, 'invalid_scope'],
  ])(
    'parks the indexer because of %s, and the error contains the reason but no secret',
    async (_name, options, reason) => {
      const failure = await failureOf(sourceOf(options).read());
      expect(failure).toMatchObject({ code: 'LEDGER_TOKEN_REFUSED', retry: 'park', facts: { oauthError: reason } });
      expect(failure.message).toContain(`refused: ${reason}`);
    },
  );
});

describe('OAuth token source on provider failures', () => {
  it.each([
    ['is overloaded', 503, 'text/plain', 'busy', /returned HTTP 503/],
    ['returns an HTML page', 200, 'text/html', '<html>log in</html>', /not a token response/],
    ['returns truncated JSON', 200, 'application/json', '{"access_tok', /not a token response/],
    ['is unavailable', 400, 'application/json', '{"error":"temporarily_unavailable"}', /400: temporarily_unavailable/],
    ['redirects', 302, 'text/plain', '', /returned HTTP 302/],
  ])('retries if the provider %s', async (_name, status, type, body, message) => {
    oidc.answerWith = (_request, response) => {
      response.writeHead(status, { 'content-type': type, location: '/elsewhere' }).end(body);
    };
    const failure = await failureOf(sourceOf().read());
    expect(failure).toMatchObject({ code: 'LEDGER_TOKEN_PROVIDER_UNAVAILABLE', retry: 'retry' });
    expect(failure.message).toMatch(message);
  });

  it('times out if the provider does not respond or stops in the middle of a response', async () => {
    const source = sourceOf({ timeoutSeconds: 0.3 });
    oidc.answerWith = () => undefined;
    expect((await failureOf(source.read())).message).toContain('did not respond in time');
    oidc.answerWith = (_request, response) =>
      response.writeHead(200, { 'content-type': 'application/json' }).write('{');
    expect((await failureOf(source.read())).message).toContain('did not respond in time');
  });

  it('reports an unreachable provider, and uses the old token until it expires', async () => {
    const clock = stopClock();
    const source = sourceOf();
    const lease = await source.lease();
    const { renewAt = 0, endsAt = 0 } = lease ?? {};
    await oidc.stop();
    clock.advance(renewAt - performance.now() + 1);
    const kept = await source.lease();
    expect(kept).toMatchObject({ token: lease?.token, problem: { code: 'LEDGER_TOKEN_PROVIDER_UNAVAILABLE' } });
    expect(kept?.problem?.message).toContain('ECONNREFUSED');
    expect(kept?.renewAt).toBeGreaterThan(performance.now());
    clock.advance(endsAt - performance.now() + 1);
    expect(await failureOf(source.read())).toMatchObject({ code: 'LEDGER_TOKEN_PROVIDER_UNAVAILABLE', retry: 'retry' });
  });

  it('sends no secret if the provider metadata names another issuer', async () => {
    const failure = await failureOf(sourceOf({ issuer: oidc.issuer.replace('127.0.0.1', 'localhost') }).read());
    expect(failure.message).toContain('describes itself as another issuer');
    expect(oidc.tokenRequests).toHaveLength(0);
  });

  it('sends no unencrypted request to another machine', async () => {
    const failure = await failureOf(sourceOf({ tokenUrl: 'http://192.0.2.1/token' }).read());
    expect(failure).toMatchObject({ code: 'LEDGER_TOKEN_INSECURE', exitCode: 78 });
  });
});
