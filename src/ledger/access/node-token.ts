/**
 * Verifies tokens that callers of the indexer send, and that the participant would accept too: signature, algorithm,
 * issuer, audience and expiry. The result depends on public keys only, so a token with a shared secret, or without a
 * signature, is never accepted.
 */
import * as errors from 'jose/errors';
import { createRemoteJWKSet, customFetch, type RemoteJWKSet } from 'jose/jwks/remote';
import { jwtVerify } from 'jose/jwt/verify';
import { createProviderFetch, type ProviderConnection } from './provider-fetch.ts';

export interface NodeTokenOptions extends ProviderConnection {
  readonly issuer: string;
  readonly audience: string;
  /** Address of the public keys. */
  readonly jwksUrl: string;
  /** Minimum time between two requests for the keys because of an unknown key id, milliseconds. Default 30 s. */
  readonly keysAgainMs?: number;
}

/** `time`: not valid yet, or without an expiry. `unavailable`: the keys cannot be read. */
export type NodeTokenFlaw = 'expired' | 'time' | 'issuer' | 'audience' | 'signature' | 'unavailable';

/** Expiry of a verified token, in milliseconds since 1970, or why it is not accepted. */
export type VerifiedToken = { readonly expiresAt: number } | { readonly flaw: NodeTokenFlaw };

/** Verifies a token. Never rejects. */
export type VerifyNodeToken = (token: string) => Promise<VerifiedToken>;

/** Algorithms with a public key. */
const algorithms = 'RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519'.split(' ');
const keysTimeoutMs = 5_000;

/** Prepares the verification. The keys are requested for the first token, and again for an unknown key id. */
export function nodeTokenVerifier(options: NodeTokenOptions): VerifyNodeToken {
  const { issuer, audience, jwksUrl, keysAgainMs: cooldownDuration = 30_000 } = options;
  const keys = remoteKeys(jwksUrl, options, cooldownDuration);
  return async (token) => {
    try {
      const { payload } = await jwtVerify(token, keys, { issuer, audience, algorithms, requiredClaims: ['exp'] });
      return { expiresAt: (payload.exp ?? 0) * 1000 };
    } catch (thrown) {
      return { flaw: flawOf(thrown) };
    }
  };
}

/** Number of public keys at the address that can verify tokens. @throws the error of the request or of its response */
export async function countPublicKeys(jwksUrl: string, connection: ProviderConnection): Promise<number> {
  const keys = remoteKeys(jwksUrl, connection, 0);
  await keys.reload();
  return (keys.jwks()?.keys ?? []).filter(({ kty, use = 'sig' }) => kty !== 'oct' && use === 'sig').length;
}

function remoteKeys(jwksUrl: string, connection: ProviderConnection, cooldownDuration: number): RemoteJWKSet {
  const fetchKeys = createProviderFetch(connection);
  return createRemoteJWKSet(new URL(jwksUrl), {
    timeoutDuration: keysTimeoutMs,
    cooldownDuration,
    [customFetch]: (url, { headers, ...request }) =>
      fetchKeys(url, { ...request, headers: Object.fromEntries(headers), body: undefined }),
  });
}

function flawOf(thrown: unknown): NodeTokenFlaw {
  if (thrown instanceof errors.JWTExpired) return 'expired';
  if (thrown instanceof errors.JWTClaimValidationFailed) {
    if (thrown.claim === 'iss') return 'issuer';
    return thrown.claim === 'aud' ? 'audience' : 'time';
  }
  const isToken = tokenErrors.some((kind) => thrown instanceof kind);
  return isToken ? 'signature' : 'unavailable';
}

/** Errors of the library that a token can cause. All others come from requesting the keys. */
const tokenErrors = [
  errors.JWSInvalid,
  errors.JWTInvalid,
  errors.JWSSignatureVerificationFailed,
  errors.JOSEAlgNotAllowed,
  errors.JOSENotSupported,
  errors.JWKSNoMatchingKey,
  errors.JWKSMultipleMatchingKeys,
];
