/**
 * Reads claims of a token, so that an operator can find out why the token is refused. Nothing is verified, and the
 * token is not stored.
 */
import type { JWTPayload } from 'jose';
// The main entry of the package loads 45 more files.
import { decodeJwt } from 'jose/jwt/decode';

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

/** The claims that say who may use a token and when. Undefined if the token is not a JWT. */
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

// Finds reasons, visible in the token, why a participant may refuse it. This is needed because the refusal of a
// participant contains no reason. Of the claims, only times are repeated.

/** Maximum lifetime that participants allow by default, seconds. */
const defaultLifetime = 300;
/** Clock difference up to which nothing is reported, seconds. */
const tolerance = 5;

/**
 * Predicates that complete a sentence with the subject "the token itself". Empty if no flaw is visible.
 * @param now seconds since 1970
 */
export function tokenFlaws(token: string, now: number): readonly string[] {
  const claims = tokenClaims(token);
  if (claims === undefined) return [isEncrypted(token) ? encrypted : opaqueTokenFlaw];
  const audience = 'names no audience (aud), which participants check unless they go by the scope';
  return [...timeFlaws(claims, now), ...(claims.audience.length === 0 ? [audience] : [])];
}

/** Some providers issue opaque tokens unless an audience is requested or the client is configured for JWT. */
const opaqueTokenFlaw =
  'is not a JWT, which participants require; the token provider may need an audience or a setting of the client';
const encrypted = 'is an encrypted JWT, which participants cannot read; the token provider must issue signed ones';

/** A JWE (RFC 7516) has five parts, a JWS three. */
function isEncrypted(token: string): boolean {
  return /^eyJ[^.]+(?:\.[^.]*){4}$/u.test(token);
}

function timeFlaws({ issuedAt, notBefore, expiresAt }: TokenClaims, now: number): readonly string[] {
  const flaws: string[] = [];
  const validFrom = Math.max(notBefore ?? 0, issuedAt ?? 0);
  if (validFrom > now + tolerance) {
    flaws.push(
      `is not valid for another ${span(validFrom - now)}: the clocks of its issuer and of this machine differ`,
    );
  }
  if (expiresAt === undefined) return [...flaws, `has no end (exp); ${limit}`];
  if (expiresAt <= now) return [...flaws, `expired ${span(now - expiresAt)} ago by the clock of this machine`];
  const lifetime = expiresAt - (issuedAt ?? now);
  if (lifetime > defaultLifetime + tolerance) flaws.push(`lives for ${span(lifetime)}; ${limit}`);
  return flaws;
}

const limit = `participants accept five minutes unless their max-token-lifetime says otherwise`;

/** A duration as text, in the largest unit of which it contains at least two. */
export function span(seconds: number): string {
  const units: readonly (readonly [number, string])[] = [
    [86_400, 'days'],
    [3_600, 'hours'],
    [60, 'minutes'],
  ];
  const [size, name] = units.find(([unit]) => seconds >= 2 * unit) ?? [1, 'seconds'];
  return `${String(Math.round(seconds / size))} ${name}`;
}
