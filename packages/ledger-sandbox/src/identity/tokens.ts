/**
 * JSON web tokens as the participant reads them: signature, audience or scope, user, and expiry. All invalid tokens
 * have the same result: they authenticate no user.
 */
import { createLocalJWKSet, createRemoteJWKSet, decodeJwt, jwtVerify } from 'jose';
import type { JSONWebKeySet, JWTPayload, JWTVerifyGetKey } from 'jose';
import { SandboxError } from '../wire/sandbox-error.ts';
import type { IdentityProviders } from './identity-providers.ts';

export interface TokenOptions {
  /** Shared secret of HS256 tokens; only for tests, as on the participant. */
  readonly secret?: string;
  /** Source of the public keys of RS256, ES256 and ES512 tokens. */
  readonly jwksUrl?: string;
  /** The public keys themselves. They take precedence over the URL. */
  readonly jwks?: JSONWebKeySet;
  /** If set, the `iss` that a token must have, unless it is the issuer of a configured identity provider. */
  readonly issuer?: string;
  /** If set, `aud` must contain this text. */
  readonly audience?: string;
  /**
   * If set, `scope` must contain this text. If neither is set, the participant's usual audience or scope is accepted.
   */
  readonly scope?: string;
  /** Whether a token with a scope but without an audience is refused. Default: as in the release, true since 3.7. */
  readonly needsAudience?: boolean;
  /** Maximum time until `exp`. Default 5 minutes; Infinity also accepts tokens without `exp`. */
  readonly maxTokenLifetimeMs?: number;
}

export interface Claims {
  readonly userId: string;
  /** Empty for the participant's own settings. */
  readonly identityProviderId: string;
  /** Milliseconds since 1970; Infinity if the token has no `exp`. */
  readonly expiresAt: number;
}

/** Verifies a token. Undefined if it authenticates no user. Never rejects. */
export type VerifyToken = (token: string) => Promise<Claims | undefined>;

interface Trust {
  readonly identityProviderId: string;
  readonly algorithms: string[];
  readonly key: JWTVerifyGetKey;
  readonly issuer: string | undefined;
  readonly audience: string | undefined;
  readonly scope: string | undefined;
  readonly needsAudience: boolean;
}

const asymmetric = ['RS256', 'ES256', 'ES512'];
const defaultScope = 'daml_ledger_api';
const defaultLifetimeMs = 300_000;
/** The participant caches fetched keys for this long. For an unknown key id it fetches the keys at once. */
const jwksCache = { cacheMaxAge: 300_000, cooldownDuration: 0 };

/** The `aud` of a token for this participant. */
function audienceOf(participantId: string): string {
  return `https://daml.com/jwt/aud/participant/${participantId}`;
}

function ownTrust(options: TokenOptions): Trust {
  const { secret, jwks, jwksUrl, issuer, audience, scope, needsAudience = false } = options;
  const sharedKey = secret === undefined ? undefined : new TextEncoder().encode(secret);
  const remote = jwksUrl === undefined ? undefined : createRemoteJWKSet(new URL(jwksUrl), jwksCache);
  const publishedKeys = jwks === undefined ? remote : createLocalJWKSet(jwks);
  const key: JWTVerifyGetKey = (header, token) => {
    const verificationKey = header.alg === 'HS256' ? sharedKey : publishedKeys?.(header, token);
    if (verificationKey === undefined) throw new TypeError('no key for the algorithm');
    return verificationKey;
  };
  const algorithms = [
    ...(sharedKey === undefined ? [] : ['HS256']),
    ...(publishedKeys === undefined ? [] : asymmetric),
  ];
  if (algorithms.length > 0) return { identityProviderId: '', algorithms, key, issuer, audience, scope, needsAudience };
  const remedy = 'set auth.secret, auth.jwksUrl or auth.jwks';
  const message = 'the sandbox has authorization, but no key to check tokens';
  throw new SandboxError(message, { code: 'SANDBOX_AUTH', remedy });
}

/** The trust settings for the issuer that a token claims. The claim is trusted only after the signature is checked. */
function trusts(defaultTrust: Trust, providers: IdentityProviders): (issuer: string) => Trust {
  const keys = new Map<string, JWTVerifyGetKey>();
  return (issuer) => {
    const provider = providers.issuing(issuer);
    if (provider === undefined) return defaultTrust;
    const { identityProviderId, jwksUrl, audience } = provider;
    const key = keys.get(jwksUrl) ?? createRemoteJWKSet(new URL(jwksUrl), jwksCache);
    keys.set(jwksUrl, key);
    const expectedAudience = audience === '' ? defaultTrust.audience : audience;
    const { scope, needsAudience } = defaultTrust;
    return {
      identityProviderId,
      algorithms: asymmetric,
      key,
      issuer,
      audience: expectedAudience,
      scope,
      needsAudience,
    };
  };
}

function isForAudience(
  payload: JWTPayload,
  { audience, scope, needsAudience }: Trust,
  defaultAudience: string,
): boolean {
  const audiences = [payload.aud ?? []].flat();
  const scopes = typeof payload['scope'] === 'string' ? payload['scope'].split(' ') : [];
  if (needsAudience) return audiences.includes(audience ?? defaultAudience);
  if (audience === undefined && scope === undefined) {
    return audiences.includes(defaultAudience) || scopes.includes(defaultScope);
  }
  return (audience === undefined || audiences.includes(audience)) && (scope === undefined || scopes.includes(scope));
}

/** Expiry of the token; undefined if it has passed, is too far in the future, or is missing. */
function endOf({ exp }: JWTPayload, maxLifetimeMs: number): number | undefined {
  const end = exp === undefined ? Infinity : exp * 1000;
  const remainingMs = end - Date.now();
  return remainingMs > 0 && remainingMs <= maxLifetimeMs ? end : undefined;
}

/** Verifies tokens with the participant's own settings and the current identity providers. */
export function tokenVerifier(
  options: TokenOptions,
  participantId: () => string,
  providers: IdentityProviders,
): VerifyToken {
  const trustOf = trusts(ownTrust(options), providers);
  const maxLifetimeMs = options.maxTokenLifetimeMs ?? defaultLifetimeMs;
  return async (token) => {
    try {
      const issuerTrust = trustOf(decodeJwt(token).iss ?? '');
      const { algorithms, issuer, identityProviderId } = issuerTrust;
      const checks = { algorithms, requiredClaims: ['sub'], ...(issuer === undefined ? {} : { issuer }) };
      const { payload } = await jwtVerify(token, issuerTrust.key, checks);
      const expiresAt = endOf(payload, maxLifetimeMs);
      const userId = payload.sub ?? '';
      if (expiresAt === undefined || userId === '' || !isForAudience(payload, issuerTrust, audienceOf(participantId())))
        return undefined;
      return { userId, identityProviderId, expiresAt };
    } catch {
      // The token is malformed or wrongly signed, has expired, or its keys cannot be fetched.
      return undefined;
    }
  };
}
