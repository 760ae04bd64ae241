/** External parties for the tests: their keys, and their onboarding through the interface. */
import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { expect } from 'vitest';
import { partyId } from '../../src/wire/random.ts';
import { post } from '../server/sockets.ts';
import type { Answer } from '../server/sockets.ts';

export interface Keys {
  readonly privateKey: KeyObject;
  readonly raw: Buffer;
  readonly fingerprint: string;
}

/** Creates an Ed25519 key pair, with its fingerprint computed by the documented rule. */
export function keys(): Keys {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const raw = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32);
  const fingerprint = `1220${createHash('sha256')
    .update(Buffer.from([0, 0, 0, 12]))
    .update(raw)
    .digest('hex')}`;
  return { privateKey, raw, fingerprint };
}

/** A `Signature` of Base64 content. */
export function signature({ privateKey, fingerprint }: Keys, content: string): object {
  return {
    format: 'SIGNATURE_FORMAT_RAW',
    signature: sign(null, Buffer.from(content, 'base64'), privateKey).toString('base64'),
    signedBy: fingerprint,
    signingAlgorithmSpec: 'SIGNING_ALGORITHM_SPEC_ED25519',
  };
}

/** The first synchronizer of every sandbox. */
const synchronizer = partyId('global-domain', 'global-domain');

type PostResult = ReturnType<typeof post>;

/** Requests the topology of a party `alice` with a raw key, or with the key in `key`. */
export function generate(url: string, partyKeys: Keys, key: object = {}): PostResult {
  const format = { format: 'CRYPTO_KEY_FORMAT_RAW', keySpec: 'SIGNING_KEY_SPEC_EC_CURVE25519' };
  const publicKey = { ...format, keyData: partyKeys.raw.toString('base64'), ...key };
  return post(url, '/v2/parties/external/generate-topology', { synchronizer, partyHint: 'alice', publicKey });
}

/** Sends a topology with signatures over its multi-hash. */
export function allocate(url: string, topology: Answer, signatures: unknown[], overrides: object = {}): PostResult {
  const transactions = topology['topologyTransactions'] as string[];
  return post(url, '/v2/parties/external/allocate', {
    synchronizer,
    onboardingTransactions: transactions.map((transaction) => ({ transaction })),
    multiHashSignatures: signatures,
    ...overrides,
  });
}

/** Onboards a party `alice` and returns its id. */
export async function onboard(url: string, partyKeys: Keys): Promise<string> {
  const { body } = await generate(url, partyKeys);
  const response = await allocate(url, body, [signature(partyKeys, body['multiHash'] as string)]);
  expect(response.status).toBe(200);
  return response.body['partyId'] as string;
}
