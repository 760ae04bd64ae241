/** Parses the users in requests: new ones, and the masked changes of existing ones. */
import { failure, invalidField, missingField } from '../wire/failure.ts';
import type { LedgerFailure } from '../wire/failure.ts';
import { asObject, asText, asTexts } from '../wire/json.ts';
import type { Json } from '../wire/json.ts';
import type { User } from './users.ts';

/** The characters and the length that the participant allows in a user id. */
const userId = /^[A-Za-z0-9@^$.!`\-#+'~_|:()]{1,128}$/;

function annotationsOf(user: Json | undefined): Readonly<Record<string, string>> {
  const annotations = asObject(asObject(asObject(user)?.['metadata'])?.['annotations']) ?? {};
  return Object.fromEntries(Object.entries(annotations).map(([key, value]) => [key, asText(value)]));
}

/** Parses the `user` of a request. Throws MISSING_FIELD or INVALID_FIELD if it has no valid id. */
export function readUser(value: Json | undefined): User {
  const user = asObject(value);
  if (user === undefined) throw missingField('user');
  const id = asText(user['id']);
  if (id === '') throw missingField('user.id');
  if (!userId.test(id)) {
    throw invalidField('user.id', `User ID "${id}" does not match regex "${userId.source}"`);
  }
  return {
    id,
    primaryParty: asText(user['primaryParty']),
    isDeactivated: user['isDeactivated'] === true,
    annotations: annotationsOf(user),
    identityProviderId: asText(user['identityProviderId']),
    primaryPartyAuthentication: user['primaryPartyAuthentication'] === true,
    resourceVersion: 0,
  };
}

function refusedUpdate(id: string, reason: string): LedgerFailure {
  const cause = `Update operation for user id '${id}' failed due to: ${reason}`;
  return failure({ code: 'INVALID_USER_UPDATE_REQUEST', category: 8, cause, resources: [['USER', id]] });
}

/** Merges annotations into the existing ones. An annotation with an empty text is removed. */
function merged(current: User['annotations'], requestedAnnotations: User['annotations']): User['annotations'] {
  return Object.fromEntries(
    Object.entries({ ...current, ...requestedAnnotations }).filter(([, value]) => value !== ''),
  );
}

function masked(current: User, requestedUser: User, path: string): Partial<User> {
  switch (path) {
    case 'primary_party':
      return { primaryParty: requestedUser.primaryParty };
    case 'is_deactivated':
      return { isDeactivated: requestedUser.isDeactivated };
    case 'primary_party_authentication':
      return { primaryPartyAuthentication: requestedUser.primaryPartyAuthentication };
    case 'metadata':
    case 'metadata.annotations':
      return { annotations: merged(current.annotations, requestedUser.annotations) };
    default:
      throw refusedUpdate(current.id, `The update path: '${path}' points to a field that cannot be updated.`);
  }
}

/**
 * The fields that an `updateMask` selects from the user in the request. Throws INVALID_USER_UPDATE_REQUEST for a mask
 * without fields.
 */
export function userChange(current: User, body: Json, updateMask: Json | undefined): Partial<User> {
  const paths = asTexts(asObject(updateMask)?.['paths']);
  if (paths.length === 0) throw refusedUpdate(current.id, 'The update mask contains no entries');
  const requestedUser = readUser(body);
  return Object.assign({}, ...paths.map((path) => masked(current, requestedUser, path))) as Partial<User>;
}
