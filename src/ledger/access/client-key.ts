/**
 * Reads the private key with which an OAuth client signs its assertions (RFC 7523) from a PEM or JWK file. Errors
 * describe the content of the file and never repeat it.
 */
import { createHash, createPrivateKey, type JsonWebKey, type KeyObject, webcrypto } from 'node:crypto';
import type { CryptoKey } from 'openid-client';
import { readSmallFile, unreadableReason } from '../../config/small-file.ts';
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

const curveNames: Readonly<Record<string, string>> = { ES256: 'P-256', ES384: 'P-384', ES512: 'P-521' };

const minRsaBits = 2048;

/**
 * Reads the key.
 * @param keyId key id that is sent if the file contains no `kid`
 * @throws IndexerError CONFIGURATION_INVALID (exit 78)
 */
export async function readClientKey(path: string, keyId: string | undefined): Promise<ClientKey> {
  const text = await textOf(path);
  const jwk = jwkIn(text);
  const keyObject = privateKeyIn(text, jwk);
  if (keyObject === undefined) throw unusableKeyError(path, jwk === undefined ? kindOfText(text) : kindOfJson(jwk));
  const alg = algorithmOf(keyObject, jwk?.['alg'], path);
  const der = keyObject.export({ type: 'pkcs8', format: 'der' });
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
    throw keyFileError(`cannot read ${path} (${unreadableReason(thrown)})`);
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

/** @param declaredAlgorithm the `alg` of a JWK */
function algorithmOf(key: KeyObject, declaredAlgorithm: unknown, path: string): string {
  const {
    asymmetricKeyType: type = 'unknown',
    asymmetricKeyDetails: { namedCurve: curveName, modulusLength = 0 } = {},
  } = key;
  if (type === 'rsa' && modulusLength < minRsaBits) throw unusableKeyError(path, `an RSA key of ${modulusLength} bits`);
  const supportedAlgorithms = algorithms[curveName ?? type];
  if (supportedAlgorithms === undefined) throw unusableKeyError(path, `a key of type ${curveName ?? type}`);
  const alg =
    declaredAlgorithm === undefined
      ? supportedAlgorithms[0]
      : supportedAlgorithms.find((candidate) => candidate === declaredAlgorithm);
  if (alg === undefined) throw unusableKeyError(path, 'a JWK whose `alg` does not fit its key');
  return alg;
}

/** The algorithm in the notation of WebCrypto. */
function importOf(alg: string): webcrypto.Algorithm | webcrypto.EcKeyImportParams | webcrypto.RsaHashedImportParams {
  const curveName = curveNames[alg];
  if (curveName !== undefined) return { name: 'ECDSA', namedCurve: curveName };
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

const expectation = `an unencrypted private key as PEM or JWK: RSA of at least ${minRsaBits} bits, EC (P-256, P-384, P-521) or Ed25519`;

/** @param problem completes "found …" */
function unusableKeyError(path: string, problem: string): IndexerError {
  return keyFileError(`expected ${expectation}; found ${problem} in ${path}`);
}

function keyFileError(problem: string): IndexerError {
  return new IndexerError(`LEDGER_OAUTH_CLIENT_KEY_FILE: ${problem}`, {
    code: 'CONFIGURATION_INVALID',
    remedy: 'set a readable file; create a key with: openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:3072',
  });
}
