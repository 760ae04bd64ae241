/** What a token says of itself, for an operator who asks why it is refused. Nothing is verified; the token is not kept. */
import { decodeJwt, type JWTPayload } from 'jose';

export interface TokenClaims {
  readonly subject: string | undefined;
  readonly issuer: string | undefined;
  readonly audience: readonly string[];
  readonly scope: string | undefined;
  /** Seconds since 1970. */
  readonly issuedAt: number | undefined;
  readonly notBefore: number | undefined;
  readonly expiresAt: number | undefined;
}

function claimsOf(token: string): JWTPayload | undefined {
  try {
    return decodeJwt(token);
  } catch {
    return undefined;
  }
}

/** The claims that say who may use a token, and when; undefined when it is no JWT. */
export function tokenClaims(token: string): TokenClaims | undefined {
  const claims = claimsOf(token);
  if (claims === undefined) return undefined;
  const { sub, iss, aud, scope, iat, nbf, exp }: Readonly<Record<string, unknown>> = claims;
  return {
    subject: text(sub),
    issuer: text(iss),
    audience: (Array.isArray(aud) ? (aud as readonly unknown[]) : [aud]).flatMap((entry) => text(entry) ?? []),
    scope: text(scope),
    issuedAt: seconds(iat),
    notBefore: seconds(nbf),
    expiresAt: seconds(exp),
  };
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value.slice(0, 200) : undefined;
}

function seconds(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}
