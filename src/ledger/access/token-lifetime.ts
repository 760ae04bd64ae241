/**
 * How long an access token lives. Renewal follows the monotonic clock from the moment a token was obtained, so that a
 * wall clock that is wrong, or is put right, neither renews in a loop nor lets a token expire unnoticed.
 */
import { tokenClaims } from './token-claims.ts';

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
 * @param requestedAt `performance.now()` when it was asked for: it cannot be older
 * @param expiresIn what the provider says, seconds; without it, or when it is 0 (some mean "not known", some the last
 * second of a token they keep), the token's own `exp - iat`
 */
export function leaseOfIssued(token: string, requestedAt: number, expiresIn: number | undefined): TokenLease {
  const { expiresAt: exp, issuedAt: iat } = tokenClaims(token) ?? {};
  const own = exp !== undefined && iat !== undefined ? exp - iat : 0;
  const seconds = Math.min(expiresIn !== undefined && expiresIn > 0 ? expiresIn : own, longestLifeSeconds);
  if (seconds <= 0) return endless(token);
  // The times in a token are whole seconds, cut off: it may end almost a second before what was promised.
  const certainMs = Math.max(seconds - 1, seconds / 2) * 1000;
  // The token's own word where there is one: the gauge is compared with the clocks of others.
  const shown = exp ?? Math.round(Date.now() / 1000 + seconds);
  return lease(token, requestedAt, certainMs, certainMs, shown);
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
