/**
 * Ed25519 signatures of external parties, whose keys are not on the participant. The client signs the hash that the
 * participant returns. It does not compute the hash from the prepared transaction, so it has to trust the preparing
 * participant. A client that does not trust the participant has to compute the hash itself. Source: OpenAPI 3.5.10
 * (SigningPublicKey, Signature, SinglePartySignatures). The fingerprint is the ledger's hash of a public key: SHA-256
 * as multihash over a purpose number and the raw key.
 */
import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, sign, type KeyObject } from 'node:crypto';
import { IndexerError } from '../../errors/indexer-error.ts';
import { ledgerError } from '../errors/make-ledger-error.ts';

/** Multihash prefix of SHA-256: algorithm 0x12, length 0x20. */
const sha256Prefix = '1220';
/**
 * The number that the ledger uses for the purpose "hash of a public key". It is encoded as four bytes, big-endian,
 * before the hashed bytes.
 */
const fingerprintPurpose = Buffer.from([0, 0, 0, 12]);
const rawKeyBytes = 32;

/** The key pair of one external party. */
export interface SigningKey {
  /** The key is never displayed, logged or sent. */
  readonly privateKey: KeyObject;
  /** 32 bytes. */
  readonly rawPublicKey: Buffer;
  /** `1220` followed by 64 hex digits. This is the part of the party id after `::`. */
  readonly fingerprint: string;
}

/** A public key in wire form. */
export interface SigningPublicKey {
  readonly format: string;
  /** Base64. */
  readonly keyData: string;
  readonly keySpec: string;
}

export interface Signature {
  readonly format: string;
  /** Base64. */
  readonly signature: string;
  /** Fingerprint of the key. */
  readonly signedBy: string;
  readonly signingAlgorithmSpec: string;
}

/** The signatures of one party for a prepared transaction. */
export interface PartySignature {
  readonly party: string;
  readonly signatures: readonly Signature[];
}

/** The fingerprint of a raw Ed25519 public key of 32 bytes. */
export function fingerprintOf(rawPublicKey: Uint8Array): string {
  const hash = createHash('sha256').update(fingerprintPurpose).update(rawPublicKey);
  return `${sha256Prefix}${hash.digest('hex')}`;
}

function derOf(privateKey: KeyObject): Buffer {
  return createPublicKey(privateKey).export({ type: 'spki', format: 'der' });
}

function signingKey(privateKey: KeyObject): SigningKey {
  // The DER header of an Ed25519 key has a fixed length, so the key is at the end.
  const rawPublicKey = derOf(privateKey).subarray(-rawKeyBytes);
  return { privateKey, rawPublicKey, fingerprint: fingerprintOf(rawPublicKey) };
}

/** A new, random key pair. */
export function generateSigningKey(): SigningKey {
  return signingKey(generateKeyPairSync('ed25519').privateKey);
}

/**
 * The key pair of a private key file.
 * @param pem PKCS#8, not encrypted
 * @throws IndexerError CONFIGURATION_INVALID when it is not an Ed25519 key; the text is not repeated
 */
export function signingKeyFromPem(pem: string): SigningKey {
  const keyObject = privateKeyIn(pem);
  if (keyObject?.asymmetricKeyType === 'ed25519') return signingKey(keyObject);
  throw new IndexerError(
    `expected an Ed25519 private key in PEM form, found ${keyObject === undefined ? 'other text' : 'another kind of key'}`,
    {
      code: 'CONFIGURATION_INVALID',
      remedy: 'create one with: openssl genpkey -algorithm ed25519',
    },
  );
}

function privateKeyIn(pem: string): KeyObject | undefined {
  try {
    return createPrivateKey({ key: pem, format: 'pem' });
  } catch {
    // The cause may quote the key, so it is not kept.
    return undefined;
  }
}

/** The private key as unencrypted PKCS#8 PEM, for a file that only its owner may read. */
export function signingKeyToPem({ privateKey }: SigningKey): string {
  return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
}

/** The public key for `generateExternalTopology`. */
export function signingPublicKey({ privateKey }: SigningKey): SigningPublicKey {
  return {
    format: 'CRYPTO_KEY_FORMAT_DER_X509_SUBJECT_PUBLIC_KEY_INFO',
    keyData: derOf(privateKey).toString('base64'),
    keySpec: 'SIGNING_KEY_SPEC_EC_CURVE25519',
  };
}

/** The signature of the bytes, 64 bytes long. */
export function signBytes({ privateKey }: SigningKey, bytes: Uint8Array): Buffer {
  return sign(null, bytes, privateKey);
}

/**
 * The signature of a hash in wire form, for the `multiHash` of a generated topology.
 * @param hash Base64, as the participant returned it
 * @throws IndexerError LEDGER_UNDECODABLE when it is not Base64
 */
export function hashSignature(key: SigningKey, hash: string): Signature {
  const bytes = Buffer.from(hash, 'base64');
  if (bytes.length === 0 || bytes.toString('base64') !== hash) {
    throw ledgerError('LEDGER_UNDECODABLE', 'expected a hash in Base64 to sign, found other text');
  }
  return {
    format: 'SIGNATURE_FORMAT_CONCAT',
    signature: signBytes(key, bytes).toString('base64'),
    signedBy: key.fingerprint,
    signingAlgorithmSpec: 'SIGNING_ALGORITHM_SPEC_ED25519',
  };
}

/** The signature of a party for a prepared transaction, for `partySignatures.signatures` of `execute`. */
export function partySignature(key: SigningKey, party: string, preparedTransactionHash: string): PartySignature {
  return { party, signatures: [hashSignature(key, preparedTransactionHash)] };
}
