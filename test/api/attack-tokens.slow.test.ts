/** Attempts to read through `/api` with forged, foreign or ended tokens of the participant. */
import { createPublicKey, type JsonWebKey } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SignJWT, type JWTHeaderParameters } from 'jose';
import { audience, canReadAs, NodeWorld } from '../security/node-tokens/world.ts';
import { needs } from '../support/skips/needs.ts';
import { limitsSkipReason } from '../support/skips/server-version.ts';
import { expiresIn, keyPair, sharedSecret, type Signer } from '../support/tokens.ts';
import { waitFor } from '../support/wait-for.ts';

const claims = { iss: 'https://issuer.example', aud: audience, sub: 'alice-attack' };

/** A token whose header and claims are exactly these. */
function signed(signer: Signer, header: Partial<JWTHeaderParameters>, more: Readonly<Record<string, unknown>> = {}) {
  const payload = { ...claims, scope: 'daml_ledger_api', exp: expiresIn(60_000), ...more };
  return new SignJWT(payload).setProtectedHeader({ alg: signer.algorithm, ...header }).sign(signer.key);
}

const encoded = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

describe('forged tokens of the participant on /api', needs(limitsSkipReason), () => {
  let world: NodeWorld;
  let foreign: Signer;
  let alice: string;
  let party: string;

  beforeAll(async () => {
    world = await NodeWorld.open();
    [party = ''] = await world.parties(1);
    foreign = await keyPair('ES256', 'first');
    alice = await world.user('alice-attack', canReadAs(party));
  });
  afterAll(() => world[Symbol.asyncDispose]());

  async function get(token: string, path = '/api/contracts?limit=1'): Promise<{ status: number; text: string }> {
    const headers = { 'x-forwarded-for': '10.0.0.1', authorization: `Bearer ${token}` };
    const response = await fetch(`${world.indexer.httpUrl}${path}`, { headers });
    return { status: response.status, text: await response.text() };
  }

  it('the token of the user is accepted', async () => {
    expect((await get(alice)).status).toBe(200);
  });

  type Forge = () => Promise<string> | string;
  const publicKey = (): string =>
    createPublicKey({ key: world.signer.jwk as JsonWebKey, format: 'jwk' })
      .export({ type: 'spki', format: 'pem' })
      .toString();
  const parts = (): readonly string[] => alice.split('.');

  it.each<[string, Forge]>([
    ['no algorithm', () => `${encoded({ alg: 'none' })}.${parts()[1] ?? ''}.`],
    ['no algorithm in other letters', () => `${encoded({ alg: 'nOnE', kid: 'first' })}.${parts()[1] ?? ''}.`],
    ['an empty signature', () => `${parts().slice(0, 2).join('.')}.`],
    ['the public key as a shared secret', () => signed(sharedSecret(publicKey()), { kid: 'first' })],
    ['a key of its own in the header', () => signed(foreign, { kid: 'first', jwk: foreign.jwk ?? {} })],
    ['an address of keys in the header', () => signed(foreign, { kid: 'first', jku: `${world.keys.url}?evil` })],
    ['a certificate in the header', () => signed(foreign, { kid: 'first', x5c: ['AAAA'], x5u: world.keys.url })],
    ['a path as key id', () => signed(foreign, { kid: '../../../dev/null' })],
    ['SQL as key id', () => signed(foreign, { kid: `' union select 'x` })],
    ['a name of every object as key id', () => signed(foreign, { kid: '__proto__' })],
    ['a long key id', () => signed(foreign, { kid: 'k'.repeat(3_000) })],
    ['no key id', () => signed(foreign, {})],
    [
      'a changed header',
      () => [encoded({ alg: 'ES256', kid: 'first', crit: ['x'], x: 1 }), ...parts().slice(1)].join('.'),
    ],
    ['another algorithm of the key', async () => signed(await keyPair('ES512', 'first'), { kid: 'first' })],
    [
      'a changed user',
      () => [parts()[0], encoded({ ...claims, sub: 'indexer', exp: expiresIn(60_000) }), parts()[2]].join('.'),
    ],
    ['an expiry as a text', () => signed(world.signer, { kid: 'first' }, { exp: '9999999999' })],
    ['an expiry in the past', () => signed(world.signer, { kid: 'first' }, { exp: expiresIn(-2_000) })],
    ['no expiry', () => signed(world.signer, { kid: 'first' }, { exp: undefined })],
    ['a start in the future', () => signed(world.signer, { kid: 'first' }, { nbf: expiresIn(60_000) })],
    ['an issuer with a slash more', () => signed(world.signer, { kid: 'first' }, { iss: `${claims.iss}/` })],
    ['a list of issuers', () => signed(world.signer, { kid: 'first' }, { iss: [claims.iss] })],
    ['an audience that begins like ours', () => signed(world.signer, { kid: 'first' }, { aud: `${audience}.evil` })],
    ['no audience', () => signed(world.signer, { kid: 'first' }, { aud: [] })],
    ['claims that are a list', () => `${parts()[0] ?? ''}.${encoded([claims])}.${parts()[2] ?? ''}`],
    ['claims that are no JSON', () => `${parts()[0] ?? ''}.e30e.${parts()[2] ?? ''}`],
  ])('a token with %s is refused with 401, and without contents', async (_, forge) => {
    const token = await forge();
    const requests = world.keys.requests();
    const { status, text } = await get(token);
    expect(status, text).toBe(401);
    expect(text).not.toContain('rows');
    expect(world.keys.requests() - requests).toBeLessThanOrEqual(1);
  });

  it('a path in the user gets no rights of another user', async () => {
    for (const sub of ['../alice-attack', 'alice-attack/rights', 'alice-attack%2f..', 'indexer/../alice-attack']) {
      const { status } = await get(await world.tokenOf(sub));
      expect([401, 403], sub).toContain(status);
    }
  });

  it('a cursor of one user is refused for another user with the same rights', async () => {
    const bob = await world.user('bob-attack', canReadAs(party));
    const path = '/api/contracts?state=all&limit=1';
    const { next } = JSON.parse((await get(alice, path)).text) as { next: string };
    expect((await get(alice, `${path}&cursor=${next}`)).status).toBe(200);
    expect(await get(bob, `${path}&cursor=${next}`)).toMatchObject({ status: 400 });
    expect(
      (await get(await world.tokenOf('alice-attack', { exp: expiresIn(50_000) }), `${path}&cursor=${next}`)).status,
    ).toBe(200);
  });

  it('a token among two is never mixed with the other', async () => {
    const url = new URL(`${world.indexer.httpUrl}/api/contracts`);
    const withoutRights = await world.user('no-rights-attack');
    const headers = new Headers({ 'x-forwarded-for': '10.0.0.1', authorization: `Bearer ${withoutRights}` });
    headers.append('authorization', `Bearer ${alice}`);
    // They arrive as one value with a comma, which is not a token.
    expect((await fetch(url, { headers })).status).toBe(401);
    expect(
      (await fetch(`${url.href}?access_token=${alice}`, { headers: { 'x-forwarded-for': '1.1.1.1' } })).status,
    ).toBe(403);
  });

  it('withdrawn rights end, and an unreachable participant ends all', async () => {
    const carol = await world.user('carol-attack', canReadAs(party));
    const path = '/api/contracts?state=all&limit=1000';
    const rowsOf = async (): Promise<number> => {
      const { status, text } = await get(carol, path);
      return status === 200 ? (JSON.parse(text) as { rows: unknown[] }).rows.length : -status;
    };
    expect(await rowsOf()).toBeGreaterThan(0);
    await world.users.revoke('carol-attack', [canReadAs(party)]);
    await waitFor('the end of the rights', async () => ((await rowsOf()) === 0 ? true : undefined));
    await world.history.sandbox.close();
    await waitFor('the refusal', async () => ((await rowsOf()) === -503 ? true : undefined));
    expect((await get(await world.tokenOf('alice-attack'))).status).toBe(503);
    expect(world.indexer.log.join('\n')).not.toContain(alice.split('.')[2]);
  });
});
