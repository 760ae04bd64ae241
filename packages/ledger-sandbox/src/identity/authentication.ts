/** Resolves a token to a caller: the user that it names, with the current rights of that user. */
import type { Authenticate } from './authorization.ts';
import type { Caller } from './caller.ts';
import { accessTokenExpired, invalidToken, staleStreamAuthorization, unauthenticated } from '../wire/failure.ts';
import type { IdentityProviders } from './identity-providers.ts';
import { isSufficient } from './rights.ts';
import { tokenVerifier } from './tokens.ts';
import type { Claims, TokenOptions } from './tokens.ts';
import type { UserSeed, Users } from './users.ts';

export interface AuthOptions extends TokenOptions {
  /** Initial users, in addition to `participant_admin`. */
  readonly users?: readonly UserSeed[];
  /** Time for which a running stream continues after its token has expired, milliseconds. Default 0. */
  readonly expiryGraceMs?: number;
  /** Milliseconds between two checks of whether the rights of a running stream's user have changed. Default 5000. */
  readonly rightsCheckMs?: number;
  /**
   * Result of a handshake with a valid token whose user is unknown, deactivated or of another identity provider.
   * `refused` (default): 403 instead of 101. `accepted`: 101 and then an unauthenticated frame, as for an invalid
   * token.
   */
  readonly unknownUserAtHandshake?: 'refused' | 'accepted';
}

/** Known users and identity providers. */
export interface Identities {
  /** Called for every token, because a re-created participant has another id. */
  participantId(): string;
  readonly users: Users;
  readonly identityProviders: IdentityProviders;
}

const defaultRightsCheckMs = 5_000;

/** Authorization by tokens and user management. Throws SANDBOX_AUTH if the options contain no key. */
export function authentication(options: AuthOptions, identities: Identities): Authenticate {
  const { users, identityProviders } = identities;
  const verify = tokenVerifier(options, () => identities.participantId(), identityProviders);
  return async (token) => {
    const claims = token === undefined ? undefined : await verify(token);
    if (claims === undefined) return undefined;
    const user = users.find(claims.userId);
    const isKnownUser = user?.isDeactivated === false && user.identityProviderId === claims.identityProviderId;
    if (isKnownUser) return callerOf(claims, users, options);
    if (options.unknownUserAtHandshake === 'accepted') return undefined;
    throw invalidToken();
  };
}

/** Creates one caller per request or stream. It remembers the rights at the start of the stream. */
function callerOf({ userId, identityProviderId, expiresAt }: Claims, users: Users, options: AuthOptions): Caller {
  const checkMs = options.rightsCheckMs ?? defaultRightsCheckMs;
  const endsAt = expiresAt + (options.expiryGraceMs ?? 0);
  const initialVersion = users.version(userId);
  let checkAt = performance.now() + checkMs;
  const assertRights = (): void => {
    if (performance.now() < checkAt) return;
    checkAt = performance.now() + checkMs;
    if (users.version(userId) !== initialVersion) throw staleStreamAuthorization();
  };
  return {
    userId,
    may: (requiredRight) => {
      // A request may follow its handshake late, so its token is checked again.
      if (Date.now() >= expiresAt) throw unauthenticated();
      return isSufficient((right) => users.has(userId, right), requiredRight, identityProviderId);
    },
    assertCurrent: () => {
      const now = Date.now();
      if (now >= endsAt) throw accessTokenExpired(endsAt, now);
      assertRights();
    },
    assertRights,
    rightsCheckInMs: () => checkAt - performance.now(),
  };
}
