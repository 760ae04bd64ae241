/** Validity of tokens: claims, lifetimes, signatures, and the source of public keys. */
import { beforeAll, describe, expect, it } from 'vitest';
import { startSandbox } from '../../src/demo/sandbox.ts';
import type { Sandbox } from '../../src/server/sandbox.ts';
import { expiresIn, keyPair, keySet, serveJwks, sharedSecret, token } from '../../../../test/support/tokens.ts';
import type { Signer } from '../../../../test/support/tokens.ts';
import { call, refusedBody, sharedSigner, startSecured } from './callers.ts';

const end = '/v2/state/ledger-end';

/** The status of a request with a token that has these claims. */
async function statusWith(
  sandbox: Sandbox,
  claims: Record<string, unknown>,
  signer: Signer = sharedSigner,
): Promise<number> {
  return (await call(sandbox.url, await token(signer, claims), `GET ${end}`)).status;
}

describe('a token', () => {
  it('authenticates only by scope or by the audience of this participant', async () => {
    await using sandbox = await startSecured();
    const audience = `https://daml.com/jwt/aud/participant/${sandbox.participantId}`;
    expect(await statusWith(sandbox, {})).toBe(200);
    expect(await statusWith(sandbox, { scope: 'openid daml_ledger_api' })).toBe(200);
    expect(await statusWith(sandbox, { scope: undefined, aud: audience })).toBe(200);
    expect(await statusWith(sandbox, { scope: undefined, aud: ['other', audience] })).toBe(200);
    expect(await statusWith(sandbox, { scope: undefined })).toBe(401);
    expect(await statusWith(sandbox, { scope: 'daml_ledger_apis' })).toBe(401);
    expect(await statusWith(sandbox, { scope: undefined, aud: `${audience}x` })).toBe(401);
  });

  it('must have the configured audience, scope and issuer', async () => {
    await using audienceSandbox = await startSecured({ audience: 'ours' });
    expect(await statusWith(audienceSandbox, { aud: 'ours' })).toBe(200);
    expect(await statusWith(audienceSandbox, {})).toBe(401);
    await using scopeSandbox = await startSecured({ scope: 'read:ledger', issuer: 'https://id.example' });
    expect(await statusWith(scopeSandbox, { scope: 'read:ledger', iss: 'https://id.example' })).toBe(200);
    expect(await statusWith(scopeSandbox, { iss: 'https://id.example' })).toBe(401);
    expect(await statusWith(scopeSandbox, { scope: 'read:ledger', iss: 'https://id.other' })).toBe(401);
    expect(await statusWith(scopeSandbox, { scope: 'read:ledger' })).toBe(401);
  });

  it('is refused if it has expired, has no exp or sub, or has a remaining lifetime of more than five minutes', async () => {
    await using sandbox = await startSecured();
    expect(await statusWith(sandbox, { exp: expiresIn(-1) })).toBe(401);
    expect(await statusWith(sandbox, { exp: undefined })).toBe(401);
    expect(await statusWith(sandbox, { sub: undefined })).toBe(401);
    expect(await statusWith(sandbox, { exp: expiresIn(310_000) })).toBe(401);
    expect(await statusWith(sandbox, { exp: expiresIn(290_000) })).toBe(200);
    // The remaining lifetime is limited instead of the total lifetime.
    expect(await statusWith(sandbox, { exp: expiresIn(290_000), iat: expiresIn(-3_600_000) })).toBe(200);
    await using shortLivedSandbox = await startSecured({ maxTokenLifetimeMs: 1_000 });
    expect(await statusWith(shortLivedSandbox, {})).toBe(401);
    await using unlimited = await startSecured({ maxTokenLifetimeMs: Infinity });
    expect(await statusWith(unlimited, { exp: undefined })).toBe(200);
    expect(await statusWith(unlimited, { exp: expiresIn(-1) })).toBe(401);
  });

  it('is refused if missing, malformed, signed by another key or not signed', async () => {
    await using sandbox = await startSecured();
    const unsigned = `${btoa('{"alg":"none"}')}.${btoa('{"sub":"alice","scope":"daml_ledger_api"}')}.`;
    const foreign = await token(sharedSecret('some other secret, as long as the other'));
    for (const bearer of [undefined, 'nonsense', 'a.b.c', unsigned, foreign]) {
      const { status, body } = await call(sandbox.url, bearer, `GET ${end}`);
      expect([status, body]).toEqual([
        401,
        expect.objectContaining({ ...refusedBody, grpcCodeValue: 16, context: {} }),
      ]);
    }
    expect((await call(sandbox.url, undefined, 'GET /v2/version')).status).toBe(200);
  });

  it('cannot be checked without a configured key, so the sandbox does not start', async () => {
    await expect(startSandbox({ auth: {} })).rejects.toMatchObject({ code: 'SANDBOX_AUTH' });
  });
});

describe('public keys', () => {
  let rsa: Signer;
  let elliptic: Signer;
  let longKeySigner: Signer;
  beforeAll(async () => {
    [rsa, elliptic, longKeySigner] = await Promise.all([keyPair('RS256'), keyPair('ES256'), keyPair('ES512')]);
  });

  it('are fetched from a JWKS URL, are cached, and are fetched again if a token has an unknown key', async () => {
    await using jwks = await serveJwks(rsa, elliptic);
    const users = [{ id: 'alice', rights: [] }];
    await using sandbox = await startSandbox({ auth: { jwksUrl: jwks.url, users } });
    expect(await statusWith(sandbox, {}, rsa)).toBe(200);
    expect(await statusWith(sandbox, {}, elliptic)).toBe(200);
    expect(jwks.requests()).toBe(1);
    expect(await statusWith(sandbox, {}, longKeySigner)).toBe(401);
    jwks.publish(longKeySigner);
    expect(await statusWith(sandbox, {}, longKeySigner)).toBe(200);
  });

  it('may be configured directly, and a shared secret does not bypass them', async () => {
    const users = [{ id: 'alice', rights: [] }];
    await using sandbox = await startSandbox({ auth: { jwks: keySet(rsa, longKeySigner), users } });
    expect(await statusWith(sandbox, {}, rsa)).toBe(200);
    expect(await statusWith(sandbox, {}, longKeySigner)).toBe(200);
    expect(await statusWith(sandbox, {}, elliptic)).toBe(401);
    const forgedSigner = sharedSecret(JSON.stringify(rsa.jwk));
    expect(await statusWith(sandbox, {}, forgedSigner)).toBe(401);
  });

  it('that cannot be fetched authenticate no user', async () => {
    await using sandbox = await startSandbox({ auth: { jwksUrl: 'http://127.0.0.1:1/jwks' } });
    expect(await statusWith(sandbox, { sub: 'participant_admin' }, rsa)).toBe(401);
  });
});
