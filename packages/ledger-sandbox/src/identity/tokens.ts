/**
 * JSON web tokens as the participant reads them: who signed, for whom (audience or scope), which user, until when.
 * Whatever is wrong with a token, the answer is the same: it authenticates nobody.
 */
import { createLocalJWKSet, createRemoteJWKSet, decodeJwt, jwtVerify } from 'jose';
import type { JSONWebKeySet, JWTPayload, JWTVerifyGetKey } from 'jose';
import { SandboxError } from '../wire/sandbox-error.ts';
import type { IdentityProviders } from './identity-providers.ts';

export interface TokenOptions {
  /** Shared secret of HS256 tokens: for tests, as on the participant. */
  readonly secret?: string;
  /** Where the public keys of RS256, ES256 and ES512 tokens are. */
  readonly jwksUrl?: string;
  /** Those keys themselves; wins over the URL. */
  readonly jwks?: JSONWebKeySet;
  /** When set, the `iss` a token must have, unless it is one of a configured identity provider. */
  readonly issuer?: string;
  /** When set, `aud` must contain it. */
  readonly audience?: string;
  /** When set, `scope` must contain it. Without both, the participant's usual audience or scope will do. */
  readonly scope?: string;
  /** Whether a scope without an audience is not enough. Default: as the release has it, from 3.7 on. */
  readonly needsAudience?: boolean;
  /** How far ahead `exp` may lie. Default 5 minutes; Infinity also accepts tokens without `exp`. */
  readonly maxTokenLifetimeMs?: number;
}

export interface Claims {
  readonly userId: string;
  /** '' for the participant's own settings. */
  readonly identityProviderId: string;
  /** Milliseconds since 1970; Infinity without `exp`. */
  readonly expiresAt: number;
}

/** Undefined: the token authenticates nobody. Never rejects. */
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
/** The participant keeps fetched keys that long and asks at once for a key id it has not seen. */
const jwksCache = { cacheMaxAge: 300_000, cooldownDuration: 0 };

/** What `aud` says in a token for this participant. */
function audienceOf(participantId: string): string {
  return `https://daml.com/jwt/aud/participant/${participantId}`;
}

function ownTrust(options: TokenOptions): Trust {
  const { secret, jwks, jwksUrl, issuer, audience, scope, needsAudience = false } = options;
  const shared = secret === undefined ? undefined : new TextEncoder().encode(secret);
  const remote = jwksUrl === undefined ? undefined : createRemoteJWKSet(new URL(jwksUrl), jwksCache);
  const published = jwks === undefined ? remote : createLocalJWKSet(jwks);
  const key: JWTVerifyGetKey = (header, token) => {
    const found = header.alg === 'HS256' ? shared : published?.(header, token);
    if (found === undefined) throw new TypeError('no key for the algorithm');
    return found;
  };
  const algorithms = [...(shared === undefined ? [] : ['HS256']), ...(published === undefined ? [] : asymmetric)];
  if (algorithms.length > 0) return { identityProviderId: '', algorithms, key, issuer, audience, scope, needsAudience };
  const remedy = 'give auth.secret, auth.jwksUrl or auth.jwks';
  const message = 'the sandbox has authorization without any key to check tokens with';
  throw new SandboxError(message, { code: 'SANDBOX_AUTH', remedy });
}

/** The trust that fits the issuer a token claims; nothing is believed before the signature is checked. */
function trusts(own: Trust, providers: IdentityProviders): (issuer: string) => Trust {
  const keys = new Map<string, JWTVerifyGetKey>();
  return (issuer) => {
    const provider = providers.issuing(issuer);
    if (provider === undefined) return own;
    const { identityProviderId, jwksUrl, audience } = provider;
    const key = keys.get(jwksUrl) ?? createRemoteJWKSet(new URL(jwksUrl), jwksCache);
    keys.set(jwksUrl, key);
    const asked = audience === '' ? own.audience : audience;
    const { scope, needsAudience } = own;
    return { identityProviderId, algorithms: asymmetric, key, issuer, audience: asked, scope, needsAudience };
  };
}

function isFor(payload: JWTPayload, { audience, scope, needsAudience }: Trust, usualAudience: string): boolean {
  const audiences = [payload.aud ?? []].flat();
  const scopes = typeof payload['scope'] === 'string' ? payload['scope'].split(' ') : [];
  if (needsAudience) return audiences.includes(audience ?? usualAudience);
  if (audience === undefined && scope === undefined) {
    return audiences.includes(usualAudience) || scopes.includes(defaultScope);
  }
  return (audience === undefined || audiences.includes(audience)) && (scope === undefined || scopes.includes(scope));
}

/** When the token ends; undefined when that is now, too far away, or missing. */
function endOf({ exp }: JWTPayload, maxLifetimeMs: number): number | undefined {
  const end = exp === undefined ? Infinity : exp * 1000;
  const left = end - Date.now();
  return left > 0 && left <= maxLifetimeMs ? end : undefined;
}

/** Checks tokens against the participant's own settings and the identity providers it knows at that moment. */
export function tokenVerifier(
  options: TokenOptions,
  participantId: () => string,
  providers: IdentityProviders,
): VerifyToken {
  const trustOf = trusts(ownTrust(options), providers);
  const maxLifetimeMs = options.maxTokenLifetimeMs ?? defaultLifetimeMs;
  return async (token) => {
    try {
      const trust = trustOf(decodeJwt(token).iss ?? '');
      const { algorithms, issuer, identityProviderId } = trust;
      const checks = { algorithms, requiredClaims: ['sub'], ...(issuer === undefined ? {} : { issuer }) };
      const { payload } = await jwtVerify(token, trust.key, checks);
      const expiresAt = endOf(payload, maxLifetimeMs);
      const userId = payload.sub ?? '';
      if (expiresAt === undefined || userId === '' || !isFor(payload, trust, audienceOf(participantId())))
        return undefined;
      return { userId, identityProviderId, expiresAt };
    } catch {
      // Malformed, wrongly signed, expired, or its keys cannot be fetched: nobody.
      return undefined;
    }
  };
}
