/**
 * Users of the participant and their rights. A token names a user, whose rights are stored on the participant. Right
 * unless stated otherwise: ParticipantAdmin, or administrator of the user's identity provider. All calls exist in all
 * releases.
 */
import { pathSegment } from '../transport/endpoint-url.ts';
import type { Transport } from '../transport/transport.ts';
import { responseEntries, responseField, responseList, responseText, nextPageToken, type Maybe } from './answer.ts';
import type { ObjectMeta } from './parties.ts';

export interface User {
  readonly id: string;
  readonly primaryParty?: Maybe<string>;
  readonly isDeactivated?: boolean;
  readonly metadata?: Maybe<ObjectMeta>;
  readonly identityProviderId?: Maybe<string>;
  readonly primaryPartyAuthentication?: boolean;
}

type OfParty = { readonly value: { readonly party: string } };
type Plain = { readonly value: Readonly<Record<string, never>> };

/** Has exactly one of the keys. Kinds of later releases appear under their own name. */
export interface RightKind {
  readonly CanActAs?: OfParty;
  readonly CanReadAs?: OfParty;
  readonly CanExecuteAs?: OfParty;
  readonly CanReadAsAnyParty?: Plain;
  readonly CanExecuteAsAnyParty?: Plain;
  /** 3.6 and later. */
  readonly CanActAsAnyParty?: Plain;
  readonly ParticipantAdmin?: Plain;
  readonly IdentityProviderAdmin?: Plain;
}

export interface Right {
  readonly kind?: Maybe<RightKind>;
}

export interface PageQuery {
  /** At most `features.userManagement.maxUsersPageSize` of the version (1000). */
  readonly pageSize?: number;
  readonly pageToken?: string;
}

export interface UsersPage {
  readonly users: readonly User[];
  /** Undefined on the last page. */
  readonly nextPageToken: string | undefined;
}

export interface UserCalls {
  /** `GET /v2/users`, one page. */
  list(query?: PageQuery): Promise<UsersPage>;
  /** `POST /v2/users`. @throws IndexerError LEDGER_REQUEST_INVALID (`USER_ALREADY_EXISTS`, 409) */
  create(user: User, rights?: readonly Right[]): Promise<User>;
  /** `GET /v2/users/{user-id}`; users may read their own entry. @throws IndexerError (`USER_NOT_FOUND`, 404) */
  get(userId: string, identityProviderId?: string): Promise<User>;
  /** `DELETE /v2/users/{user-id}`: the user and all its rights. */
  delete(userId: string): Promise<void>;
  /** `GET /v2/users/{user-id}/rights`; users may read their own rights. */
  rights(userId: string): Promise<readonly Right[]>;
  /** `POST /v2/users/{user-id}/rights`: returns the granted rights that the user did not have before. */
  grant(userId: string, rights: readonly Right[], identityProviderId?: string): Promise<readonly Right[]>;
  /** `PATCH /v2/users/{user-id}/rights`: returns the revoked rights that the user had. */
  revoke(userId: string, rights: readonly Right[], identityProviderId?: string): Promise<readonly Right[]>;
  /** `GET /v2/authenticated-user`: the user of the token. Right: any authenticated user. */
  authenticated(identityProviderId?: string): Promise<User>;
}

function userOf(response: unknown, path: string): User {
  const user = responseField(response, 'user', path);
  return { ...user, id: responseText(user, 'id', path) };
}

function rightsOf(response: unknown, name: string, path: string): readonly Right[] {
  return responseList(response, name, path) as readonly Right[];
}

type RightsChange = (
  userId: string,
  rights: readonly Right[],
  identityProviderId?: string,
) => Promise<readonly Right[]>;

function rightsChange(transport: Transport, method: 'POST' | 'PATCH', name: string): RightsChange {
  return async (userId, rights, identityProviderId = '') => {
    const path = rightsPath(userId);
    return rightsOf(await transport.request(method, path, { userId, identityProviderId, rights }), name, path);
  };
}

function rightsPath(userId: string): string {
  return `/v2/users/${pathSegment(userId)}/rights`;
}

export function userCalls(transport: Transport): UserCalls {
  const requestUser = async (path: string, identityProviderId: string | undefined): Promise<User> => {
    const query = { 'identity-provider-id': identityProviderId };
    return userOf(await transport.request('GET', path, undefined, query), path);
  };
  return {
    async list(query) {
      const response = await transport.request('GET', '/v2/users', undefined, { ...query });
      const users = responseEntries(response, 'users', 'id', '/v2/users');
      return { users, nextPageToken: nextPageToken(response) };
    },
    create: async (user, rights) => userOf(await transport.request('POST', '/v2/users', { user, rights }), '/v2/users'),
    get: (userId, identityProviderId) => requestUser(`/v2/users/${pathSegment(userId)}`, identityProviderId),
    async delete(userId) {
      await transport.requestText('DELETE', `/v2/users/${pathSegment(userId)}`);
    },
    async rights(userId) {
      const path = rightsPath(userId);
      return rightsOf(await transport.request('GET', path), 'rights', path);
    },
    grant: rightsChange(transport, 'POST', 'newlyGrantedRights'),
    revoke: rightsChange(transport, 'PATCH', 'newlyRevokedRights'),
    authenticated: (identityProviderId) => requestUser('/v2/authenticated-user', identityProviderId),
  };
}
