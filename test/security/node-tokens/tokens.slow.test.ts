/** Only tokens that the participant would accept too are accepted, and only while it confirms them. */
import { createPublicKey, type JsonWebKey } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { needs } from '../../support/skips/needs.ts';
import { limitsSkipReason } from '../../support/skips/server-version.ts';
import { expiresIn, keyPair, sharedSecret, token } from '../../support/tokens.ts';
import { waitFor } from '../../support/wait-for.ts';
import type { ReceivedEvents } from '../../changes/listener.ts';
import { audience, canReadAs, NodeWorld } from './world.ts';

describe('a token of the participant', needs(limitsSkipReason), () => {
  let world: NodeWorld;
  let [alice, bob]: readonly string[] = [];
  let aliceToken: string;

  beforeAll(async () => {
    world = await NodeWorld.open();
    [alice, bob] = await world.parties(2);
    aliceToken = await world.user('alice-user', canReadAs(alice ?? ''));
  });
  afterAll(() => world[Symbol.asyncDispose]());

  async function expectRefused(sent: string, status: number): Promise<void> {
    expect((await world.changesStatus(sent)).status).toBe(status);
    expect((await world.ask(sent, 'select 1')).status).toBe(status);
  }

  async function endOf(stream: ReceivedEvents): Promise<string> {
    await waitFor('the end of the stream', () => (stream.ends.length > 0 ? true : undefined));
    stream.close();
    return (JSON.parse(stream.ends[0] ?? '') as { reason: string }).reason;
  }

  it('is refused with a wrong claim', async () => {
    // The reason proves that the indexer refuses it before the participant does.
    for (const [claims, reason] of [
      [{ iss: 'https://other.example' }, 'issuer (iss)'],
      [{ iss: undefined }, 'issuer (iss)'],
      [{ aud: 'https://other.example' }, 'audience (aud)'],
      [{ aud: undefined }, 'audience (aud)'],
      [{ exp: expiresIn(-1_000) }, 'expired'],
      [{ exp: undefined }, 'expiry (exp)'],
      [{ nbf: expiresIn(60_000) }, 'not valid yet'],
    ] as const) {
      const sent = await world.tokenOf('alice-user', claims);
      await expectRefused(sent, 401);
      expect((await world.ask(sent, 'select 1')).text).toContain(reason);
    }
  });

  it('is refused with a wrong signature', async () => {
    const stranger = await keyPair('ES256', 'first');
    const forgedByStranger = await world.tokenOf('alice-user', {}, stranger);
    await expectRefused(forgedByStranger, 401);
    expect((await world.ask(forgedByStranger, 'select 1')).text).toContain('not signed with a current key');
    await expectRefused(await world.tokenOf('alice-user', {}, await keyPair('ES256', 'unknown')), 401);
    const [header = '', payload = ''] = aliceToken.split('.');
    const none = Buffer.from(JSON.stringify({ alg: 'none', typ: 'JWT' })).toString('base64url');
    for (const forged of [`${none}.${payload}.`, `${none}.${payload}.AAAA`, `${header}.${payload}.`]) {
      await expectRefused(forged, 401);
    }
    const { jwk } = world.signer;
    if (jwk === undefined) throw new Error('the signer has a public key');
    const publicKey = createPublicKey({ key: jwk as JsonWebKey, format: 'jwk' });
    for (const secret of [publicKey.export({ type: 'spki', format: 'pem' }).toString(), JSON.stringify(jwk)]) {
      const claims = { iss: 'https://issuer.example', aud: audience, sub: 'alice-user' };
      await expectRefused(await token(sharedSecret(secret), claims), 401);
    }
  });

  it('is refused for a user that the participant does not know', async () => {
    const { status } = await world.ask(await world.tokenOf('user-without-rights'), 'select 1');
    expect([401, 403]).toContain(status);
  });

  it.each([
    ['is not limited in a table', (role: string) => `drop policy "${role}" on ledger.contract_parties`],
    ['bypasses row security', (role: string) => `alter role "${role}" bypassrls`],
    ['is a member of another role', (role: string) => `grant pg_read_all_data to "${role}"`],
    ['may write', (role: string) => `grant insert on ledger.live to "${role}"`],
  ])('is refused while the role of its user %s', async (_, change) => {
    const repair = `alter role "${world.role}" with nobypassrls; revoke pg_read_all_data from "${world.role}"`;
    await world.sql(change(world.role));
    try {
      await waitFor('the refusal', async () => {
        const { status } = await world.ask(await world.tokenOf('alice-user'), 'select 1');
        return status === 503 ? true : undefined;
      });
    } finally {
      await world.sql(repair);
      await world.grant();
    }
    await waitFor('the end of the refusal', async () => {
      const { status } = await world.ask(await world.tokenOf('alice-user'), 'select 1');
      return status === 200 ? true : undefined;
    });
  });

  it('is accepted after a rotation of keys, and with the old key no more', async () => {
    const next = await keyPair('ES256', 'next');
    world.keys.publish(world.signer, next);
    await waitFor('the new key', async () => {
      const { status } = await world.ask(await world.tokenOf('alice-user', {}, next), 'select 1');
      return status === 200 ? true : undefined;
    });
    const requests = world.keys.requests();
    for (let attempt = 0; attempt < 20; attempt += 1) {
      const unknown = await keyPair('ES256', `unknown-${String(attempt)}`);
      expect((await world.ask(await world.tokenOf('alice-user', {}, unknown), 'select 1')).status).toBe(401);
    }
    // Unknown key ids cause few requests.
    expect(world.keys.requests() - requests).toBeLessThan(5);
  });

  it('ends its streams when rights are withdrawn, granted, or the user is deleted', async () => {
    const carol = await world.user('carol-user', canReadAs(alice ?? ''), canReadAs(bob ?? ''));
    const [ofCarol, ofAlice] = [world.listen(carol), world.listen(aliceToken)];
    await Promise.all([ofCarol.begun, ofAlice.begun]);
    await world.users.revoke('carol-user', [canReadAs(bob ?? '')]);
    expect(await endOf(ofCarol)).toBe('changed');
    const narrower = world.listen(carol);
    await narrower.begun;
    await world.users.grant('carol-user', [canReadAs(bob ?? '')]);
    expect(await endOf(narrower)).toBe('changed');
    const wider = world.listen(carol);
    await wider.begun;
    await world.users.delete('carol-user');
    expect(await endOf(wider)).toBe('revoked');
    expect(ofAlice.ends).toEqual([]);
    const visible = await world.visible(alice ?? '');
    expect(ofAlice.ids).toEqual(visible);
    const { status } = await world.ask(carol, 'select 1');
    expect([401, 403]).toContain(status);
  });

  it('sends nothing that became visible to others after rights were withdrawn', async () => {
    const dave = await world.user('dave-user', canReadAs(bob ?? ''));
    const stream = world.listen(dave);
    await stream.begun;
    await world.users.revoke('dave-user', [canReadAs(bob ?? '')]);
    expect(await endOf(stream)).toBe('changed');
    const seen = stream.ids.length;
    world.history.grow(20);
    await world.indexer.reaches(world.history.sandbox.ledger.ledgerEnd());
    const later = world.listen(dave);
    await later.begun;
    expect(later.ids).toEqual([]);
    expect(stream.ids).toHaveLength(seen);
  });

  it('ends its stream at its expiry', async () => {
    const stream = world.listen(await world.tokenOf('alice-user', { exp: Math.ceil(expiresIn(1_500)) }));
    await stream.begun;
    expect(await endOf(stream)).toBe('expired');
    await waitFor('the refusal', () => (stream.refused === 401 || stream.ends.length > 0 ? true : undefined));
  });

  it('is not in the log, and not in the database', async () => {
    const [, , signature = ''] = aliceToken.split('.');
    expect(world.indexer.log.join('\n')).not.toContain(signature);
    expect(JSON.stringify(await world.sql('select * from ledger.node_sessions'))).not.toContain(signature);
  });

  it('returns nothing while the participant is unreachable', async () => {
    const stream = world.listen(aliceToken);
    await stream.begun;
    await world.history.sandbox.close();
    expect(await endOf(stream)).toBe('unconfirmed');
    await expectRefused(aliceToken, 503);
    await expectRefused(await world.tokenOf('alice-user'), 503);
  });
});
