/**
 * Verifies client assertions as a provider does: RFC 7523 §3, OpenID Connect Core §9, and the algorithms of RFC 7518 and
 * RFC 8037. It shares no code with the indexer or its libraries.
 */
import { constants, type KeyObject, verify } from 'node:crypto';

/** A public key that was registered for the client. */
export interface RegisteredKey {
  readonly publicKey: KeyObject;
  /** If set, the assertion must contain this key id. */
  readonly kid?: string;
}

export interface AssertionRules {
  readonly clientId: string;
  /** An assertion is accepted if it contains any of these values. */
  readonly audiences: readonly string[];
  /** `jti` of earlier assertions. When an assertion is accepted, its `jti` is added. */
  readonly usedIds: Set<string>;
}

const longestLifeSeconds = 300;

/** The reason for which the assertion in a form is rejected; undefined if it is accepted. */
export function assertionFlaw(
  formParameters: URLSearchParams,
  key: RegisteredKey,
  rules: AssertionRules,
): string | undefined {
  const type = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
  if (formParameters.get('client_assertion_type') !== type) return 'The client must use private_key_jwt.';
  if ((formParameters.get('client_id') ?? rules.clientId) !== rules.clientId)
    return 'The client_id is not the subject.';
  const tokenParts = (formParameters.get('client_assertion') ?? '').split('.');
  const [header = '', claims = '', signature = ''] = tokenParts;
  if (tokenParts.length !== 3 || signature === '') return 'The client_assertion is not a signed JWT.';
  const { alg, kid } = objectOf(header);
  if (key.kid !== undefined && kid !== key.kid) return 'The client_assertion has no registered kid.';
  const claimObject = objectOf(claims);
  const flaw = claimFlaw(claimObject, rules);
  if (flaw !== undefined) return flaw;
  const signedBytes = Buffer.from(`${header}.${claims}`);
  if (!isSigned(signedBytes, Buffer.from(signature, 'base64url'), String(alg), key.publicKey)) {
    return 'The client_assertion signature is invalid.';
  }
  rules.usedIds.add(String(claimObject['jti']));
  return undefined;
}

function claimFlaw(claims: Readonly<Record<string, unknown>>, rules: AssertionRules): string | undefined {
  const { iss, sub, aud, exp, nbf = 0, iat = 0, jti } = claims;
  const now = Date.now() / 1000;
  if (iss !== rules.clientId || sub !== rules.clientId) return 'The issuer and subject must be the client_id.';
  if (typeof aud !== 'string' || !rules.audiences.includes(aud)) {
    return 'The audience claim for client_assertion must be the endpoint invoked for the request.';
  }
  if (typeof exp !== 'number' || exp <= now) return 'The client_assertion has expired.';
  if (exp > now + longestLifeSeconds) return 'The client_assertion lives too long.';
  if (Number(nbf) > now || Number(iat) > now) return 'The client_assertion is not valid yet.';
  if (typeof jti !== 'string' || jti === '' || rules.usedIds.has(jti)) return 'The client_assertion was used before.';
  return undefined;
}

/** True if this key made the signature, with an algorithm for keys of its type. */
function isSigned(signedBytes: Buffer, signature: Buffer, alg: string, key: KeyObject): boolean {
  const hash = `sha${alg.slice(2)}`;
  const [type, family] = [key.asymmetricKeyType, alg.slice(0, 2)];
  if (type === 'rsa' && family === 'RS') return verify(hash, signedBytes, key, signature);
  if (type === 'rsa' && family === 'PS') {
    const pss = { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST };
    return verify(hash, signedBytes, pss, signature);
  }
  if (type === 'ec' && family === 'ES') return verify(hash, signedBytes, { key, dsaEncoding: 'ieee-p1363' }, signature);
  return type === 'ed25519' && /^(?:EdDSA|Ed25519)$/u.test(alg) && verify(null, signedBytes, key, signature);
}

function objectOf(tokenPart: string): Readonly<Record<string, unknown>> {
  return JSON.parse(Buffer.from(tokenPart, 'base64url').toString('utf8')) as Record<string, unknown>;
}
