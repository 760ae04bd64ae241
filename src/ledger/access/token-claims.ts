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

// Why a participant may not accept a token, as far as the token itself shows it: a refusal names no reason. Of the
// claims nothing is repeated but times.

/** What participants allow unless told otherwise, seconds. */
const usualLifetime = 300;
/** What clocks may differ by before it is worth a word, seconds. */
const tolerance = 5;

/**
 * Predicates that read on after "the token itself"; empty when nothing can be seen, as in a token that is no JWT.
 * @param now seconds since 1970
 */
export function tokenFlaws(token: string, now: number): readonly string[] {
  const claims = tokenClaims(token);
  if (claims === undefined) return [];
  const audience = 'names no audience (aud), which participants check unless they go by the scope';
  return [...timeFlaws(claims, now), ...(claims.audience.length === 0 ? [audience] : [])];
}

function timeFlaws({ issuedAt, notBefore, expiresAt }: TokenClaims, now: number): readonly string[] {
  const flaws: string[] = [];
  const early = Math.max(notBefore ?? 0, issuedAt ?? 0);
  if (early > now + tolerance) {
    flaws.push(`is not good for another ${span(early - now)}: the clocks of its issuer and of this machine differ`);
  }
  if (expiresAt === undefined) return [...flaws, `has no end (exp); ${limit}`];
  if (expiresAt <= now) return [...flaws, `expired ${span(now - expiresAt)} ago by the clock of this machine`];
  const lifetime = expiresAt - (issuedAt ?? now);
  if (lifetime > usualLifetime + tolerance) flaws.push(`lives for ${span(lifetime)}; ${limit}`);
  return flaws;
}

const limit = `participants accept five minutes unless their max-token-lifetime says otherwise`;

/** A length of time, in the largest unit of which there are two. */
export function span(seconds: number): string {
  const units: readonly (readonly [number, string])[] = [
    [86_400, 'days'],
    [3_600, 'hours'],
    [60, 'minutes'],
  ];
  const [size, name] = units.find(([unit]) => seconds >= 2 * unit) ?? [1, 'seconds'];
  return `${String(Math.round(seconds / size))} ${name}`;
}

// How long an access token lives. Renewal follows the monotonic clock from the moment a token was obtained, so that a
// wall clock that is wrong, or is put right, neither renews in a loop nor lets a token expire unnoticed.

/** Of its lifetime a token is used for this share; then a newer one is asked for. */
const renewalShare = 0.8;

/** Longer is taken for this: a lifetime near the largest number would make the time of renewal no number at all. */
const longestLifeSeconds = 10 * 365 * 86_400;

/** A token and how long it may be used. */
export interface TokenLease {
  readonly token: string;
  /** `performance.now()` from which a newer token should be asked for; undefined when the lifetime is not known. */
  readonly renewAt: number | undefined;
  /** `performance.now()` from which it is of no use any more; undefined when the lifetime is not known. */
  readonly endsAt: number | undefined;
  /** What the token itself says, seconds since 1970; for display only. */
  readonly expiresAt: number | undefined;
}

function lease(token: string, fromMs: number, lifetimeMs: number, leftMs: number, exp: number | undefined): TokenLease {
  return {
    token,
    renewAt: fromMs + leftMs - (1 - renewalShare) * lifetimeMs,
    endsAt: fromMs + leftMs,
    expiresAt: exp,
  };
}

function endless(token: string): TokenLease {
  return { token, renewAt: undefined, endsAt: undefined, expiresAt: undefined };
}

/**
 * A token that was issued for us just now.
 * @param askedAt `performance.now()` when it was asked for: it cannot be older
 * @param expiresIn what the provider says, seconds; without it, or when it is 0 (some mean "not known", some the last
 * second of a token they keep), the token's own `exp - iat`
 */
export function leaseOfIssued(token: string, askedAt: number, expiresIn: number | undefined): TokenLease {
  const { expiresAt: exp, issuedAt: iat } = tokenClaims(token) ?? {};
  const own = exp !== undefined && iat !== undefined ? exp - iat : 0;
  const seconds = Math.min(expiresIn !== undefined && expiresIn > 0 ? expiresIn : own, longestLifeSeconds);
  if (seconds <= 0) return endless(token);
  // The times in a token are whole seconds, cut off: it may end almost a second before what was promised.
  const certainMs = Math.max(seconds - 1, seconds / 2) * 1000;
  // The token's own word where there is one: the gauge is compared with the clocks of others.
  const shown = exp ?? Math.round(Date.now() / 1000 + seconds);
  return lease(token, askedAt, certainMs, certainMs, shown);
}

/**
 * A token that somebody else obtained some time ago, such as one in a file. Its age is known from the wall clock only,
 * but is taken for at least 0 and at most its lifetime.
 */
export function leaseOfFound(token: string, foundAt: number): TokenLease {
  const { expiresAt: exp, issuedAt: iat } = tokenClaims(token) ?? {};
  if (exp === undefined) return endless(token);
  const now = Date.now() / 1000;
  const seconds = Math.min(longestLifeSeconds, Math.max(0, exp - (iat ?? now)));
  const left = Math.min(seconds, Math.max(0, exp - now));
  return lease(token, foundAt, seconds * 1000, left * 1000, exp);
}
