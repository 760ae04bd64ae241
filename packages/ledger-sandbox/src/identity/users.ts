/**
 * The users of the participant and their rights. Every change of a user's rights gives the user a new version, by which
 * running streams detect the change.
 */
import { failure } from '../wire/failure.ts';
import type { LedgerFailure } from '../wire/failure.ts';
import { keyOf } from './rights.ts';
import type { Right } from './rights.ts';

export interface User {
  readonly id: string;
  /** Empty if there is none. Likewise, an empty identity provider means the default one. */
  readonly primaryParty: string;
  readonly isDeactivated: boolean;
  readonly annotations: Readonly<Record<string, string>>;
  readonly identityProviderId: string;
  readonly primaryPartyAuthentication: boolean;
  /** Counts changes of the user, but not of its rights. */
  readonly resourceVersion: number;
}

/** An initial user. */
export interface UserSeed {
  readonly id: string;
  readonly rights: readonly Right[];
  readonly primaryParty?: string;
  readonly isDeactivated?: boolean;
  readonly identityProviderId?: string;
}

/** `maxRightsPerUser` of GET /v2/version. */
const maxRights = 1000;

/** The user that every participant has from the beginning. */
export const adminUser = 'participant_admin';

interface Entry {
  readonly user: User;
  readonly rights: ReadonlyMap<string, Right>;
  readonly version: number;
}

function refusal(code: string, category: number, id: string, cause: string): LedgerFailure {
  return failure({ code, category, cause, resources: [['USER', id]] });
}

export class Users {
  readonly #entries = new Map<string, Entry>();
  #versions = 0;

  /** Creates `participant_admin` and the users in `seeds`. A seed of the same name replaces it. */
  constructor(seeds: readonly UserSeed[] = []) {
    for (const seed of [{ id: adminUser, rights: [{ kind: 'ParticipantAdmin' as const }] }, ...seeds]) {
      this.#store(newUser(seed), withRights(seed.id, new Map(), seed.rights, 'creating user'));
    }
  }

  find(id: string): User | undefined {
    return this.#entries.get(id)?.user;
  }

  /** The user with this id. Throws USER_NOT_FOUND. @param operation e.g. `getting user`, for the text of the refusal */
  get(id: string, operation: string): User {
    return this.#entry(id, operation).user;
  }

  /** Adds a user. Throws USER_ALREADY_EXISTS or TOO_MANY_USER_RIGHTS. */
  create(user: User, rights: readonly Right[]): User {
    const operation = 'creating user';
    if (this.#entries.has(user.id)) {
      throw refusal('USER_ALREADY_EXISTS', 10, user.id, `${operation} failed, as user "${user.id}" already exists`);
    }
    return this.#store(user, withRights(user.id, new Map(), rights, operation));
  }

  /**
   * Replaces fields of a user. Throws USER_NOT_FOUND, or CONCURRENT_USER_UPDATE_DETECTED if the user does not have the
   * expected resource version (empty expects none).
   */
  update(id: string, change: Partial<User>, expectedVersion: string): User {
    const { user, rights } = this.#entry(id, 'updating user');
    if (expectedVersion !== '' && expectedVersion !== String(user.resourceVersion)) {
      const cause = `Update operation for user '${id}' failed due to a concurrent update to the same user`;
      throw refusal('CONCURRENT_USER_UPDATE_DETECTED', 2, id, cause);
    }
    return this.#store({ ...user, ...change, resourceVersion: user.resourceVersion + 1 }, rights);
  }

  /** Deletes a user. Throws USER_NOT_FOUND. */
  delete(id: string): void {
    this.#entry(id, 'deleting user');
    this.#entries.delete(id);
  }

  /** At most `count` users whose id is after the given one, sorted by id. */
  list(lastId: string, count: number): User[] {
    const users = [...this.#entries.values()].map(({ user }) => user).filter(({ id }) => id > lastId);
    return users.sort((a, b) => (a.id < b.id ? -1 : 1)).slice(0, count);
  }

  /** The rights of a user. Throws USER_NOT_FOUND. */
  rights(id: string): Right[] {
    return [...this.#entry(id, 'listing user rights').rights.values()];
  }

  /** Grants rights. Returns those that the user did not have. Throws USER_NOT_FOUND or TOO_MANY_USER_RIGHTS. */
  grant(id: string, newRights: readonly Right[]): Right[] {
    const operation = 'granting user rights';
    const { user, rights } = this.#entry(id, operation);
    const allRights = withRights(id, rights, newRights, operation);
    if (allRights.size > rights.size) this.#store(user, allRights);
    return [...allRights].filter(([key]) => !rights.has(key)).map(([, right]) => right);
  }

  /** Revokes rights. Returns those that the user had. Throws USER_NOT_FOUND. */
  revoke(id: string, revokedRights: readonly Right[]): Right[] {
    const { user, rights } = this.#entry(id, 'revoking user rights');
    const revokedKeys = new Set(revokedRights.map(keyOf));
    const remainingRights = [...rights].filter(([key]) => !revokedKeys.has(key));
    if (remainingRights.length < rights.size) this.#store(user, new Map(remainingRights));
    return [...rights].filter(([key]) => revokedKeys.has(key)).map(([, right]) => right);
  }

  /** Whether a user has a right; false for a user that is unknown or deactivated. */
  has(id: string, right: Right): boolean {
    const entry = this.#entries.get(id);
    return entry !== undefined && !entry.user.isDeactivated && entry.rights.has(keyOf(right));
  }

  /** A number that differs after every change of the user or its rights; 0 for a user that does not exist. */
  version(id: string): number {
    return this.#entries.get(id)?.version ?? 0;
  }

  #store(user: User, rights: ReadonlyMap<string, Right>): User {
    this.#versions += 1;
    this.#entries.set(user.id, { user, rights, version: this.#versions });
    return user;
  }

  #entry(id: string, operation: string): Entry {
    const entry = this.#entries.get(id);
    if (entry !== undefined) return entry;
    throw refusal('USER_NOT_FOUND', 11, id, `${operation} failed for unknown user "${id}"`);
  }
}

function newUser({ id, primaryParty, isDeactivated, identityProviderId }: UserSeed): User {
  return {
    id,
    primaryParty: primaryParty ?? '',
    isDeactivated: isDeactivated ?? false,
    annotations: {},
    identityProviderId: identityProviderId ?? '',
    primaryPartyAuthentication: false,
    resourceVersion: 0,
  };
}

function withRights(
  id: string,
  rights: ReadonlyMap<string, Right>,
  extraRights: readonly Right[],
  operation: string,
): ReadonlyMap<string, Right> {
  const allRights = new Map([...rights, ...extraRights.map((right) => [keyOf(right), right] as const)]);
  if (allRights.size <= maxRights) return allRights;
  throw refusal('TOO_MANY_USER_RIGHTS', 9, id, `${operation} failed, as user "${id}" would have too many rights.`);
}
