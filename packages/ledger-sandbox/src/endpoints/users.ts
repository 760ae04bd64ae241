/** Users and their rights, and the caller's own user. */
import { require } from '../identity/caller.ts';
import type { Call, Endpoint } from '../api/endpoint.ts';
import { UndecodableRequest, failure, invalidArgument, missingField, permissionDenied } from '../wire/failure.ts';
import { readUser, userChange } from '../identity/user-requests.ts';
import { parseRights, rightBody } from '../identity/rights.ts';
import type { Right } from '../identity/rights.ts';
import { adminUser } from '../identity/users.ts';
import type { User } from '../identity/users.ts';
import { asObject, asText, textAt } from '../wire/json.ts';
import type { JsonObject } from '../wire/json.ts';
import { isWithin } from '../wire/release.ts';

/** `maxUsersPageSize` of GET /v2/version. */
const largestPage = 1000;

function userBody(user: User, { participant }: Call): JsonObject {
  const { id, primaryParty, isDeactivated, annotations, identityProviderId, primaryPartyAuthentication } = user;
  const metadata = { resourceVersion: String(user.resourceVersion), annotations };
  const userFields = { id, primaryParty, isDeactivated, metadata, identityProviderId };
  return isWithin(participant.release, '3.5', undefined) ? { ...userFields, primaryPartyAuthentication } : userFields;
}

function userResponse(user: User, call: Call): string {
  return JSON.stringify({ user: userBody(user, call) });
}

function rightsResponse(key: string, rights: readonly Right[]): string {
  return JSON.stringify({ [key]: rights.map(rightBody) });
}

/** The user in the path. Requires a caller that may manage this user. */
function managed(call: Call, operation: string): User {
  const id = call.path['user-id'] ?? '';
  const { users } = call.participant;
  require(call.caller, [{ administer: users.find(id)?.identityProviderId ?? '' }]);
  return users.get(id, operation);
}

/** The same, but the caller may also be this user. */
function readableUser(call: Call, operation: string): User {
  const id = call.path['user-id'] ?? '';
  return id === call.caller.userId ? call.participant.users.get(id, operation) : managed(call, operation);
}

/** The body names the user too, and must name the same one. */
function assertSameUser({ path }: Call, namedUser: string): void {
  const id = path['user-id'] ?? '';
  if (namedUser === '') throw missingField('user_id');
  if (namedUser !== id) throw invalidArgument(`${id} does not match user in body ${namedUser}`);
}

/**
 * Only a participant's administrator may create other administrators, and grant rights to parties of any identity
 * provider. A provider's administrator may grant rights to parties of that provider.
 */
function assertMayGrant({ caller, participant }: Call, rights: readonly Right[], identityProviderId: string): void {
  if (caller.may('admin')) return;
  if (rights.some(({ kind }) => kind === 'ParticipantAdmin')) throw permissionDenied();
  const parties = rights.flatMap((right) => ('party' in right ? [right.party] : []));
  const unknownParties = parties.filter((party) => !participant.parties.isOf(identityProviderId, party));
  if (unknownParties.length === 0) return;
  throw invalidArgument(
    `Provided parties have not been found in identity_provider_id=${identityProviderId}: [${unknownParties.join()}].`,
  );
}

function pageSize(value: string | null): number {
  if (value === null) return largestPage;
  if (!/^-?\d{1,10}$/.test(value)) throw new UndecodableRequest('query parameter pageSize');
  const size = Number(value);
  if (size < 0) throw invalidArgument('Max page size must be non-negative');
  return size === 0 ? largestPage : Math.min(size, largestPage);
}

/** A page token is the last id of the previous page. */
function listUsers(call: Call): string {
  const { caller, participant, query } = call;
  require(caller, ['admin']);
  const size = pageSize(query.get('pageSize'));
  const token = query.get('pageToken') ?? '';
  const lastId = Buffer.from(token, 'base64').toString();
  if (Buffer.from(lastId).toString('base64') !== token) throw invalidArgument('Invalid page token');
  const users = participant.users.list(lastId, size + 1);
  const page = users.slice(0, size);
  const next = users.length > size ? Buffer.from(page.at(-1)?.id ?? '').toString('base64') : '';
  return JSON.stringify({ users: page.map((user) => userBody(user, call)), nextPageToken: next });
}

function createUser(call: Call): string {
  const { caller, participant, body } = call;
  const user = readUser(body['user']);
  const rights = parseRights(body['rights'], participant.release);
  require(caller, [{ administer: user.identityProviderId }]);
  assertMayGrant(call, rights, user.identityProviderId);
  const provider = user.identityProviderId;
  if (provider !== '' && !participant.identityProviders.has(provider)) {
    throw invalidArgument(`Provided identity_provider_id ${provider} has not been found.`);
  }
  return userResponse(participant.users.create(user, rights), call);
}

function getUser(call: Call): string {
  const user = readableUser(call, 'getting user');
  const provider = call.query.get('identity-provider-id') ?? user.identityProviderId;
  if (provider !== user.identityProviderId) throw permissionDenied();
  return userResponse(user, call);
}

function authenticatedUser(call: Call): string {
  const { userId } = call.caller;
  if (userId !== '') return userResponse(call.participant.users.get(userId, 'getting user'), call);
  const missingUserCause = 'requests with an empty user-id are only supported if there is an authenticated user';
  const cause = `The submitted request is missing a user-id: ${missingUserCause}`;
  throw failure({ code: 'INVALID_TOKEN', category: 8, cause });
}

function updateUser(call: Call): string {
  const { id } = managed(call, 'updating user');
  const requestedUser = asObject(call.body['user']);
  if (requestedUser === undefined) throw missingField('user');
  assertSameUser(call, asText(requestedUser['id']));
  const current = call.participant.users.get(id, 'updating user');
  const change = userChange(current, requestedUser, call.body['updateMask']);
  if (change.isDeactivated === true) assertDispensable(call, id, 'deactivated');
  const expected = textAt(requestedUser, 'metadata', 'resourceVersion');
  return userResponse(call.participant.users.update(id, change, expected), call);
}

/** Prevents users from locking out themselves or the participant's administrator. */
function assertDispensable({ caller }: Call, id: string, action: string): void {
  if (id === adminUser) throw invalidArgument(`user ${adminUser} cannot be ${action}`);
  if (id === caller.userId) throw invalidArgument(`the requesting user ${id} cannot be ${action} by itself`);
}

function deleteUser(call: Call): string {
  const { id } = managed(call, 'deleting user');
  assertDispensable(call, id, 'deleted');
  call.participant.users.delete(id);
  return '{}';
}

function listRights(call: Call): string {
  const { id } = readableUser(call, 'listing user rights');
  return rightsResponse('rights', call.participant.users.rights(id));
}

/** Parses a grant or a revocation. Requires a caller that may do it. */
function rightsChange(call: Call, operation: string): { readonly id: string; readonly rights: readonly Right[] } {
  const rights = parseRights(call.body['rights'], call.participant.release);
  const { id, identityProviderId } = managed(call, operation);
  assertSameUser(call, asText(call.body['userId']));
  assertMayGrant(call, rights, identityProviderId);
  return { id, rights };
}

function grantRights(call: Call): string {
  const { id, rights } = rightsChange(call, 'granting user rights');
  return rightsResponse('newlyGrantedRights', call.participant.users.grant(id, rights));
}

function revokeRights(call: Call): string {
  const { id, rights } = rightsChange(call, 'revoking user rights');
  return rightsResponse('newlyRevokedRights', call.participant.users.revoke(id, rights));
}

const userPath = '/v2/users/{user-id}';
const userRightsPath = `${userPath}/rights`;

export const userEndpoints: readonly Endpoint[] = [
  {
    method: 'GET',
    path: '/v2/users',
    summary: 'The users, by page',
    query: ['pageSize', 'pageToken'],
    response: 'ListUsersResponse',
    run: listUsers,
  },
  {
    method: 'POST',
    path: '/v2/users',
    summary: 'Create a user',
    request: 'CreateUserRequest',
    response: 'CreateUserResponse',
    run: createUser,
  },
  {
    method: 'GET',
    path: userPath,
    summary: 'A user',
    query: ['identity-provider-id'],
    response: 'GetUserResponse',
    run: getUser,
  },
  {
    method: 'PATCH',
    path: userPath,
    summary: 'Change fields of a user',
    request: 'UpdateUserRequest',
    response: 'UpdateUserResponse',
    run: updateUser,
  },
  { method: 'DELETE', path: userPath, summary: 'Delete a user and its rights', response: 'object', run: deleteUser },
  {
    method: 'GET',
    path: '/v2/authenticated-user',
    summary: 'The user of the token',
    query: ['identity-provider-id'],
    response: 'GetUserResponse',
    run: authenticatedUser,
  },
  {
    method: 'GET',
    path: userRightsPath,
    summary: 'The rights of a user',
    response: 'ListUserRightsResponse',
    run: listRights,
  },
  {
    method: 'POST',
    path: userRightsPath,
    summary: 'Grant rights to a user',
    request: 'GrantUserRightsRequest',
    response: 'GrantUserRightsResponse',
    run: grantRights,
  },
  {
    method: 'PATCH',
    path: userRightsPath,
    summary: 'Revoke rights of a user',
    request: 'RevokeUserRightsRequest',
    response: 'RevokeUserRightsResponse',
    run: revokeRights,
  },
];
