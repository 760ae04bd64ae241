/** What a token says of itself, for an operator who asks why it is refused. Nothing is verified; the token is not kept. */

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

/** The claims of a JWT; undefined when the token is none. */
export function tokenClaims(token: string): TokenClaims | undefined {
  const [, payload = ''] = token.split('.');
  let claims: unknown;
  try {
    claims = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'));
  } catch {
    return undefined;
  }
  if (typeof claims !== 'object' || claims === null) return undefined;
  const { sub, iss, aud, scope, iat, nbf, exp } = claims as Record<string, unknown>;
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
