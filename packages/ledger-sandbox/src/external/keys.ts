/**
 * Keys and signatures of external parties: Ed25519 public keys in raw form or X.509, raw signatures. Fingerprints and
 * multi-hashes are SHA-256 over a 4-byte big-endian purpose and the content, with the prefix `1220`.
 */
import { createHash, createPublicKey, verify } from 'node:crypto';
import { UndecodableRequest, invalidArgument, missingField } from '../wire/failure.ts';
import { asObject, asText } from '../wire/json.ts';
import type { Json } from '../wire/json.ts';

/** Purpose numbers of hashes. Equal contents with different purposes have different hashes. */
export const purpose = { publicKey: 12, topologyTransaction: 11, topologyTransactions: 55, preparedTransaction: 48 };

/** The fixed beginning of an X.509 SubjectPublicKeyInfo with Ed25519. The 32 bytes of the key follow it. */
const x509Prefix = Buffer.from('302a300506032b6570032100', 'hex');
const keyBytes = 32;

/** The hash of a content for a purpose, 32 bytes. */
export function purposeHash(purposeCode: number, content: Buffer): Buffer {
  const head = Buffer.alloc(4);
  head.writeUInt32BE(purposeCode);
  return createHash('sha256').update(head).update(content).digest();
}

/** The same hash with its multi-hash prefix, 34 bytes. */
export function multiHash(purposeCode: number, content: Buffer): Buffer {
  return Buffer.concat([Buffer.from([0x12, 0x20]), purposeHash(purposeCode, content)]);
}

/**
 * Fingerprint `1220…` of a key: the end of a party id, and the `signedBy` of a signature.
 * @param key the raw public key
 */
export function keyFingerprint(key: Buffer): string {
  return multiHash(purpose.publicKey, key).toString('hex');
}

/** Decodes bytes of a request. Throws the decoder's refusal for anything but standard Base64 with padding. */
export function base64(value: Json | undefined): Buffer {
  const text = asText(value);
  const bytes = Buffer.from(text, 'base64');
  if (bytes.toString('base64') === text) return bytes;
  throw new UndecodableRequest('body', `The string is not a valid Base64: ${text.slice(0, 40)}`);
}

/** The raw Ed25519 key of a `SigningPublicKey`. Throws INVALID_ARGUMENT for every other kind of key. */
export function parsePublicKey(value: Json | undefined): Buffer {
  const publicKey = asObject(value);
  if (publicKey === undefined) throw missingField('public_key');
  const [format, spec] = [asText(publicKey['format']), asText(publicKey['keySpec'])];
  if (spec !== 'SIGNING_KEY_SPEC_EC_CURVE25519') {
    throw invalidArgument(`Unable to parse public key: key spec ${spec.slice(0, 60)} is not supported`);
  }
  const data = base64(publicKey['keyData']);
  const x509 = format === 'CRYPTO_KEY_FORMAT_DER_X509_SUBJECT_PUBLIC_KEY_INFO';
  if (!x509 && format !== 'CRYPTO_KEY_FORMAT_RAW') {
    throw invalidArgument(`Unable to parse public key: key format ${format.slice(0, 60)} is not supported`);
  }
  const hasPrefix =
    data.length === x509Prefix.length + keyBytes && data.subarray(0, x509Prefix.length).equals(x509Prefix);
  if (x509 && hasPrefix) return data.subarray(x509Prefix.length);
  if (!x509 && data.length === keyBytes) return data;
  throw invalidArgument(`Unable to parse public key: ${data.length} bytes are not an Ed25519 key in this format`);
}

/** A `Signature` of a request. */
export interface Signature {
  /** The fingerprint of the key. */
  readonly signedBy: string;
  readonly bytes: Buffer;
}

/** Parses a `Signature`. Throws INVALID_ARGUMENT unless it is a raw Ed25519 signature. */
export function parseSignature(value: Json): Signature {
  const signature = asObject(value) ?? {};
  const [format, spec] = [asText(signature['format']), asText(signature['signingAlgorithmSpec'])];
  if (!['SIGNATURE_FORMAT_RAW', 'SIGNATURE_FORMAT_CONCAT'].includes(format)) {
    throw invalidArgument(`Unable to parse signature: format ${format.slice(0, 60)} is not supported`);
  }
  if (spec !== 'SIGNING_ALGORITHM_SPEC_ED25519') {
    throw invalidArgument(`Unable to parse signature: algorithm ${spec.slice(0, 60)} is not supported`);
  }
  const fingerprint = asText(signature['signedBy']);
  if (fingerprint === '') throw missingField('signed_by');
  return { signedBy: fingerprint, bytes: base64(signature['signature']) };
}

/** Whether the key has signed the content. @param key the raw public key */
export function isSigned(content: Buffer, key: Buffer, { signedBy: fingerprint, bytes }: Signature): boolean {
  if (fingerprint !== keyFingerprint(key)) return false;
  const publicKey = createPublicKey({ key: Buffer.concat([x509Prefix, key]), format: 'der', type: 'spki' });
  return verify(null, content, publicKey, bytes);
}
