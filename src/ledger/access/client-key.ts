/**
 * Reads the private key with which an OAuth client signs its assertions (RFC 7523) from a PEM or JWK file. Errors
 * describe the content of the file and never repeat it.
 */
import { createHash, createPrivateKey, type JsonWebKey, type KeyObject, webcrypto } from 'node:crypto';
import type { CryptoKey } from 'openid-client';
import { readSmallFile, whyUnreadable } from '../../config/small-file.ts';
import { IndexerError } from '../../errors/indexer-error.ts';
import { isObject } from '../frames/field.ts';

export interface ClientKey {
  /** The key is not extractable. */
  readonly key: CryptoKey;
  /** The id by which the provider finds the public key. Undefined if the client has only one key. */
  readonly kid: string | undefined;
  /** The signature algorithm in JWT notation, such as `RS256`. */
  readonly alg: string;
  /** Changes with the content of the file. */
  readonly version: string;
}

type Jwk = Readonly<Record<string, unknown>>;

/** The signature algorithms that each kind of key supports. The first one is used if a JWK names none. */
const algorithms: Readonly<Record<string, readonly string[]>> = {
  rsa: ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  prime256v1: ['ES256'],
  secp384r1: ['ES384'],
  secp521r1: ['ES512'],
  // RFC 9864 renamed EdDSA to Ed25519 in 2025, but many providers accept only the earlier name.
  ed25519: ['EdDSA', 'Ed25519'],
};

const curves: Readonly<Record<string, string>> = { ES256: 'P-256', ES384: 'P-384', ES512: 'P-521' };

const fewestRsaBits = 2048;

/**
 * Reads the key.
 * @param keyId key id that is sent if the file contains no `kid`
 * @throws IndexerError CONFIGURATION_INVALID (exit 78)
 */
export async function readClientKey(path: string, keyId: string | undefined): Promise<ClientKey> {
  const text = await textOf(path);
  const jwk = jwkIn(text);
  const found = privateKeyIn(text, jwk);
  if (found === undefined) throw unusable(path, jwk === undefined ? kindOfText(text) : kindOfJson(jwk));
  const alg = algorithmOf(found, jwk?.['alg'], path);
  const der = found.export({ type: 'pkcs8', format: 'der' });
  const kid = jwk?.['kid'];
  return {
    key: await webcrypto.subtle.importKey('pkcs8', der, importOf(alg), false, ['sign']),
    kid: typeof kid === 'string' ? kid : keyId,
    alg,
    version: createHash('sha256').update(text).digest('hex'),
  };
}

async function textOf(path: string): Promise<string> {
  try {
    return await readSmallFile(path);
  } catch (thrown) {
    throw invalid(`cannot read ${path} (${whyUnreadable(thrown)})`);
  }
}

function jwkIn(text: string): Jwk | undefined {
  try {
    const parsed: unknown = JSON.parse(text);
    return isObject(parsed) ? parsed : undefined;
  } catch {
    return undefined;
  }
}

function privateKeyIn(text: string, jwk: Jwk | undefined): KeyObject | undefined {
  try {
    return createPrivateKey(jwk === undefined ? text : { key: jwk as JsonWebKey, format: 'jwk' });
  } catch {
    // The cause may quote the content, so it is not kept.
    return undefined;
  }
}

/** @param named the `alg` of a JWK */
function algorithmOf(key: KeyObject, named: unknown, path: string): string {
  const { asymmetricKeyType: type = 'unknown', asymmetricKeyDetails: { namedCurve, modulusLength = 0 } = {} } = key;
  if (type === 'rsa' && modulusLength < fewestRsaBits) throw unusable(path, `an RSA key of ${modulusLength} bits`);
  const fitting = algorithms[namedCurve ?? type];
  if (fitting === undefined) throw unusable(path, `a key of type ${namedCurve ?? type}`);
  const alg = named === undefined ? fitting[0] : fitting.find((each) => each === named);
  if (alg === undefined) throw unusable(path, 'a JWK whose `alg` does not fit its key');
  return alg;
}

/** The algorithm in the notation of WebCrypto. */
function importOf(alg: string): webcrypto.Algorithm | webcrypto.EcKeyImportParams | webcrypto.RsaHashedImportParams {
  const namedCurve = curves[alg];
  if (namedCurve !== undefined) return { name: 'ECDSA', namedCurve };
  if (alg.startsWith('Ed')) return { name: 'Ed25519' };
  return { name: alg.startsWith('PS') ? 'RSA-PSS' : 'RSASSA-PKCS1-v1_5', hash: `SHA-${alg.slice(2)}` };
}

const kindsOfText: readonly (readonly [RegExp, string])[] = [
  [/^\s*$/u, 'nothing'],
  [/-----BEGIN ENCRYPTED PRIVATE KEY-----|^Proc-Type: 4,ENCRYPTED/mu, 'an encrypted key'],
  [/-----BEGIN OPENSSH PRIVATE KEY-----/u, 'a key in the form of OpenSSH'],
  [/-----BEGIN (?:\w+ )?PRIVATE KEY-----/u, 'a damaged private key'],
  [/-----BEGIN (?:\w+ )?PUBLIC KEY-----/u, 'a public key'],
  [/-----BEGIN (?:\w+ )?CERTIFICATE-----/u, 'a certificate'],
];

function kindOfText(text: string): string {
  return kindsOfText.find(([shape]) => shape.test(text))?.[1] ?? 'other text';
}

function kindOfJson(jwk: Jwk): string {
  if ('keys' in jwk) return 'a set of keys';
  if (jwk['kty'] === 'oct') return 'a shared secret';
  if (!('kty' in jwk)) return 'JSON without `kty`';
  return 'd' in jwk ? 'a damaged private key' : 'a public key';
}

const expected = `an unencrypted private key as PEM or JWK: RSA of at least ${fewestRsaBits} bits, EC (P-256, P-384, P-521) or Ed25519`;

/** @param found completes "found …" */
function unusable(path: string, found: string): IndexerError {
  return invalid(`expected ${expected}; found ${found} in ${path}`);
}

function invalid(problem: string): IndexerError {
  return new IndexerError(`LEDGER_OAUTH_CLIENT_KEY_FILE: ${problem}`, {
    code: 'CONFIGURATION_INVALID',
    remedy: 'set a readable file; create a key with: openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:3072',
  });
}
