/**
 * Lifetime of an access token. The time of renewal is measured with the monotonic clock, from the moment a token was
 * obtained. Therefore a wrong or corrected wall clock causes neither a loop of renewals nor an unnoticed expiry.
 */
import { tokenClaims } from './token-claims.ts';

/** Share of its lifetime after which a newer token is requested. */
const renewalShare = 0.8;

/**
 * Maximum lifetime, seconds. A longer lifetime is reduced to this value, because a lifetime near the largest number
 * would make the renewal time NaN.
 */
const longestLifeSeconds = 10 * 365 * 86_400;

/** A token and how long it may be used. */
export interface TokenLease {
  readonly token: string;
  /** `performance.now()` from which a newer token should be requested; undefined if the lifetime is not known. */
  readonly renewAt: number | undefined;
  /** `performance.now()` from which the token is invalid; undefined if the lifetime is not known. */
  readonly endsAt: number | undefined;
  /** Expiry that the token itself states, seconds since 1970; for display only. */
  readonly expiresAt: number | undefined;
}

function lease(
  token: string,
  fromMs: number,
  lifetimeMs: number,
  remainingMs: number,
  exp: number | undefined,
): TokenLease {
  return {
    token,
    renewAt: fromMs + remainingMs - (1 - renewalShare) * lifetimeMs,
    endsAt: fromMs + remainingMs,
    expiresAt: exp,
  };
}

function endless(token: string): TokenLease {
  return { token, renewAt: undefined, endsAt: undefined, expiresAt: undefined };
}

/**
 * A token that was just issued to this program.
 * @param requestedAt `performance.now()` when it was requested; the token cannot be older
 * @param expiresIn lifetime according to the provider, seconds. If it is missing or 0, `exp - iat` of the token is
 * used. Some providers send 0 if the lifetime is unknown, others in the last second of a cached token.
 */
export function leaseOfIssuedToken(token: string, requestedAt: number, expiresIn: number | undefined): TokenLease {
  const { expiresAt: exp, issuedAt: iat } = tokenClaims(token) ?? {};
  const claimedSeconds = exp !== undefined && iat !== undefined ? exp - iat : 0;
  const seconds = Math.min(expiresIn !== undefined && expiresIn > 0 ? expiresIn : claimedSeconds, longestLifeSeconds);
  if (seconds <= 0) return endless(token);
  // The times in a token are truncated to seconds, so the token may expire almost a second earlier than stated.
  const safeMs = Math.max(seconds - 1, seconds / 2) * 1000;
  // The expiry in the token is used if it has one, because the metric is compared with the clocks of other machines.
  const expiresAt = exp ?? Math.round(Date.now() / 1000 + seconds);
  return lease(token, requestedAt, safeMs, safeMs, expiresAt);
}

/**
 * A token that was obtained elsewhere some time ago, such as one in a file. Its age can only be determined with the
 * wall clock, so the age is limited to the range from 0 to its lifetime.
 */
export function leaseOfStoredToken(token: string, foundAt: number): TokenLease {
  const { expiresAt: exp, issuedAt: iat } = tokenClaims(token) ?? {};
  if (exp === undefined) return endless(token);
  const now = Date.now() / 1000;
  const seconds = Math.min(longestLifeSeconds, Math.max(0, exp - (iat ?? now)));
  const remainingSeconds = Math.min(seconds, Math.max(0, exp - now));
  return lease(token, foundAt, seconds * 1000, remainingSeconds * 1000, exp);
}
