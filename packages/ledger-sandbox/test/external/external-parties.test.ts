/**
 * The onboarding of external parties. The sandbox returns the topology to sign. Only the party's own key authorizes the
 * allocation.
 */
import { createHash } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startSandbox } from '../../src/demo/sandbox.ts';
import type { Sandbox } from '../../src/server/sandbox.ts';
import { allocate, generate, keys, onboard, signature } from './external-parties.ts';
import type { Keys } from './external-parties.ts';
import { valueAt } from '../server/sockets.ts';
import type { post } from '../server/sockets.ts';

let sandbox: Sandbox;
let alice: Keys;
beforeEach(async () => {
  sandbox = await startSandbox({ seed: 5 });
  alice = keys();
});
afterEach(async () => {
  await sandbox.close();
});

describe('the onboarding of an external party', () => {
  it('derives its id from the hint and the fingerprint of its key', async () => {
    const { status, body } = await generate(sandbox.url, alice);
    expect(status).toBe(200);
    expect(Object.keys(body)).toEqual(['partyId', 'publicKeyFingerprint', 'topologyTransactions', 'multiHash']);
    expect(body['partyId']).toBe(`alice::${alice.fingerprint}`);
    expect(Buffer.from(body['multiHash'] as string, 'base64').toString('hex')).toMatch(/^1220[0-9a-f]{64}$/);
    expect((await generate(sandbox.url, alice)).body).toEqual(body);
  });

  it('also accepts a key in X.509 form, and refuses a key that is not Ed25519', async () => {
    const x509 = {
      format: 'CRYPTO_KEY_FORMAT_DER_X509_SUBJECT_PUBLIC_KEY_INFO',
      keyData: Buffer.concat([Buffer.from('302a300506032b6570032100', 'hex'), alice.raw]).toString('base64'),
    };
    const generateTopology = (change: object): ReturnType<typeof post> =>
      generate(sandbox.url, alice, { ...x509, ...change });
    expect((await generateTopology({})).body['publicKeyFingerprint']).toBe(alice.fingerprint);
    expect((await generateTopology({ keySpec: 'SIGNING_KEY_SPEC_EC_P256' })).body['code']).toBe('INVALID_ARGUMENT');
    expect((await generateTopology({ format: 'CRYPTO_KEY_FORMAT_RAW' })).body['code']).toBe('INVALID_ARGUMENT');
  });

  it('hosts the party, with a topology event on the ledger', async () => {
    const party = await onboard(sandbox.url, alice);
    const update = sandbox.ledger.range(0, 1, 1)[0]?.update;
    expect(
      valueAt(update, 'TopologyTransaction', 'value', 'events', 0, 'event', 'ParticipantAuthorizationAdded', 'value'),
    ).toEqual({
      partyId: party,
      participantId: sandbox.participantId,
      participantPermission: 'PARTICIPANT_PERMISSION_CONFIRMATION',
    });
    const { body } = await generate(sandbox.url, alice);
    const secondResponse = await allocate(sandbox.url, body, [signature(alice, body['multiHash'] as string)]);
    expect([secondResponse.status, secondResponse.body['code']]).toEqual([400, 'INVALID_ARGUMENT']);
  });

  it('accepts a signature of each transaction instead of one signature of all transactions', async () => {
    const { body } = await generate(sandbox.url, alice);
    const onboardingTransactions = (body['topologyTransactions'] as string[]).map((transaction) => {
      const purpose = Buffer.from([0, 0, 0, 11]);
      const digest = createHash('sha256').update(purpose).update(Buffer.from(transaction, 'base64')).digest();
      const hash = Buffer.concat([Buffer.from([0x12, 0x20]), digest]).toString('base64');
      return { transaction, signatures: [signature(alice, hash)] };
    });
    expect((await allocate(sandbox.url, body, [], { onboardingTransactions })).status).toBe(200);
  });

  it('is refused with a wrong signature, another key, no signature, or changed transactions', async () => {
    const { body } = await generate(sandbox.url, alice);
    const multiHash = body['multiHash'] as string;
    const validSignature = signature(alice, multiHash);
    const mallory = keys();
    const otherParty = (await generate(sandbox.url, mallory)).body;
    const refusals = [
      await allocate(sandbox.url, body, [signature(alice, Buffer.alloc(34).toString('base64'))]),
      await allocate(sandbox.url, body, [signature(mallory, multiHash)]),
      await allocate(sandbox.url, body, [{ ...signature(mallory, multiHash), signedBy: alice.fingerprint }]),
      await allocate(sandbox.url, body, []),
      await allocate(sandbox.url, body, [validSignature, signature(mallory, multiHash)]),
      await allocate(sandbox.url, otherParty, [validSignature]),
    ];
    expect(refusals.map((response) => [response.status, response.body['code']])).toEqual(
      refusals.map(() => [400, 'TOPOLOGY_INVALID_SIGNATURE']),
    );
    expect(sandbox.ledger.ledgerEnd()).toBe(0);
    expect((await allocate(sandbox.url, body, [validSignature])).status).toBe(200);
  });
});
