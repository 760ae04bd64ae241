/** Signatures of external parties, compared with the vectors of RFC 8032 and verified by Node.js. */
import { createHash, createPublicKey, generateKeyPairSync, verify } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import {
  fingerprintOf,
  generateSigningKey,
  hashSignature,
  partySignature,
  signBytes,
  signingKeyFromPem,
  signingKeyToPem,
  signingPublicKey,
} from '../../../src/ledger/access/signing.ts';

/** PEM of a secret from RFC 8032 (7.1). The secret follows the fixed header of PKCS#8. */
function pemOf(secretHex: string): string {
  const der = Buffer.from(`302e020100300506032b657004220420${secretHex}`, 'hex');
  return `-----BEGIN PRIVATE KEY-----\n${der.toString('base64')}\n-----END PRIVATE KEY-----\n`;
}

const rfc = [
  {
    secret: '9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60',
    public: 'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a',
    message: '',
    signature:
      'e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b',
  },
  {
    secret: '4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb',
    public: '3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c',
    message: '72',
    signature:
      '92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00',
  },
];

describe('signing key', () => {
  it.each(rfc)('creates the signature of RFC 8032: $public', (vector) => {
    const key = signingKeyFromPem(pemOf(vector.secret));
    expect(key.rawPublicKey.toString('hex')).toBe(vector.public);
    expect(signBytes(key, Buffer.from(vector.message, 'hex')).toString('hex')).toBe(vector.signature);
  });

  it('has a fingerprint of 1220 and the SHA-256 hash of purpose 12 and the raw public key', () => {
    const key = signingKeyFromPem(pemOf(rfc[0]?.secret ?? ''));
    const hash = createHash('sha256').update(Buffer.from(`0000000c${rfc[0]?.public ?? ''}`, 'hex'));
    expect(key.fingerprint).toBe(`1220${hash.digest('hex')}`);
    expect(key.fingerprint).toBe(fingerprintOf(key.rawPublicKey));
    expect(key.fingerprint).toMatch(/^1220[0-9a-f]{64}$/u);
  });

  it('is unchanged after a round trip through PEM, and differs from the next generated key', () => {
    const key = generateSigningKey();
    expect(signingKeyFromPem(signingKeyToPem(key)).fingerprint).toBe(key.fingerprint);
    expect(generateSigningKey().fingerprint).not.toBe(key.fingerprint);
  });

  it('exports its public key as X.509 SubjectPublicKeyInfo', () => {
    const key = generateSigningKey();
    const { format, keyData, keySpec } = signingPublicKey(key);
    expect([format, keySpec]).toEqual([
      'CRYPTO_KEY_FORMAT_DER_X509_SUBJECT_PUBLIC_KEY_INFO',
      'SIGNING_KEY_SPEC_EC_CURVE25519',
    ]);
    const publicKey = createPublicKey({ key: Buffer.from(keyData, 'base64'), format: 'der', type: 'spki' });
    expect(publicKey.export({ format: 'jwk' }).x).toBe(key.rawPublicKey.toString('base64url'));
  });

  it('cannot be read from another type of key or from invalid PEM', () => {
    const p256 = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
    const otherKey = p256.export({ type: 'pkcs8', format: 'pem' }).toString();
    expect(() => signingKeyFromPem(otherKey)).toThrow(/found another kind of key/u);
    expect(() => signingKeyFromPem('-----BEGIN PRIVATE KEY-----\nsecret')).toThrow(/found other text$/u);
  });
});

describe('party signature', () => {
  const hash = Buffer.from(`1220${'ab'.repeat(32)}`, 'hex');

  it('has the format of the ledger API and matches the public key', () => {
    const key = generateSigningKey();
    const { party, signatures } = partySignature(key, 'Alice::1220', hash.toString('base64'));
    const [singleSignature] = signatures;
    expect(party).toBe('Alice::1220');
    expect(signatures).toEqual([
      {
        format: 'SIGNATURE_FORMAT_CONCAT',
        signature: expect.any(String) as string,
        signedBy: key.fingerprint,
        signingAlgorithmSpec: 'SIGNING_ALGORITHM_SPEC_ED25519',
      },
    ]);
    const bytes = Buffer.from(singleSignature?.signature ?? '', 'base64');
    expect(bytes).toHaveLength(64);
    expect(verify(null, hash, createPublicKey(key.privateKey), bytes)).toBe(true);
    expect(verify(null, Buffer.from('other'), createPublicKey(key.privateKey), bytes)).toBe(false);
  });

  it.each(['', 'not base64!', 'YQ', '1220abcz='])('cannot be created for %j, which is not Base64', (text) => {
    expect(() => hashSignature(generateSigningKey(), text)).toThrow(/expected a hash in Base64/u);
  });
});
