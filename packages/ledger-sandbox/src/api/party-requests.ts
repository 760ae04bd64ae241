/** Reads and checks the requests that change parties, in the participant's order. */
import { require } from '../identity/caller.ts';
import type { Caller } from '../identity/caller.ts';
import { failure, invalidArgument, missingField } from '../wire/failure.ts';
import { asObject, asText, asTexts } from '../wire/json.ts';
import type { Json, JsonObject } from '../wire/json.ts';
import type { Participant } from './participant.ts';
import type { Annotations, Hosting, PartyChange } from '../parties/parties.ts';

/** Maximum bytes of the annotations of one party. */
const annotationsLimit = 256 * 1024;
/** Maximum characters of the part of a party id before the `::`. */
const hintLimit = 185;

export interface Allocation {
  readonly hosting: Hosting;
  /** The user who may act as the party afterwards; empty if there is none. */
  readonly userId: string;
}

export interface PartyUpdate {
  readonly party: string;
  readonly identityProviderId: string;
  readonly change: PartyChange;
}

function checkHint(hint: string): void {
  const problems: readonly (readonly [boolean, string])[] = [
    [/[^A-Za-z0-9:_ -]/.test(hint), 'it has a character that party ids cannot have'],
    [hint.includes('::'), 'a hint cannot contain the delimiter ::'],
    [hint.length > hintLimit, `it is longer than ${hintLimit} characters`],
  ];
  const problem = problems.find(([isProblem]) => isProblem);
  if (problem !== undefined) throw invalidArgument(`Invalid party ID: ${problem[1]}`);
}

function annotationsIn(metadata: JsonObject, field: string): Annotations {
  const entries = Object.entries(asObject(metadata['annotations']) ?? {});
  const annotations = Object.fromEntries(entries.map(([key, value]) => [key, asText(value)]));
  if (Buffer.byteLength(Object.entries(annotations).flat().join('')) > annotationsLimit) {
    throw invalidArgument(`annotations from field '${field}' are larger than the limit of 256kb`);
  }
  return annotations;
}

/**
 * The synchronizer of an allocation: the requested one, otherwise the first. A real participant requires the request to
 * name one.
 */
function synchronizerIn(synchronizerId: string, { ledger }: Participant): string {
  if (synchronizerId === '') return ledger.synchronizers[0].id;
  if (ledger.synchronizers.some(({ id }) => id === synchronizerId)) return synchronizerId;
  throw invalidArgument(`This node is not connected to the requested synchronizer ${synchronizerId}.`);
}

/**
 * Parses an AllocatePartyRequest. It is allowed to administrators of the identity provider, and to users for
 * themselves. Throws the redacted 403, INVALID_ARGUMENT or USER_NOT_FOUND.
 */
export function parseAllocation(body: JsonObject, participant: Participant, caller: Caller): Allocation {
  const userId = asText(body['userId']);
  const identityProviderId = asText(body['identityProviderId']);
  if (userId === '' || userId !== caller.userId) require(caller, [{ administer: identityProviderId }]);
  const hint = asText(body['partyIdHint']);
  checkHint(hint);
  const metadata = asObject(body['localMetadata']) ?? {};
  if (asText(metadata['resourceVersion']) !== '') {
    throw invalidArgument('field local_metadata.resource_version must be not set');
  }
  const annotations = annotationsIn(metadata, 'local_metadata.annotations');
  const empty = Object.keys(annotations).find((key) => annotations[key] === '');
  if (empty !== undefined) throw invalidArgument(`The value of an annotation is empty for key: '${empty}'`);
  const synchronizerId = synchronizerIn(asText(body['synchronizerId']), participant);
  if (identityProviderId !== '' && !participant.identityProviders.has(identityProviderId)) {
    throw invalidArgument(`Provided identity_provider_id ${identityProviderId} has not been found.`);
  }
  if (userId !== '') participant.users.get(userId, "checking user's existence");
  const party = participant.parties.idFor(hint);
  participant.parties.requireFree(party, identityProviderId, caller.may({ administer: identityProviderId }));
  const permission = 'PARTICIPANT_PERMISSION_SUBMISSION';
  return { hosting: { party, synchronizerId, permission, annotations, identityProviderId }, userId };
}

const changeable = new Set(['local_metadata', 'local_metadata.annotations', 'local_metadata.resource_version']);

/** The fields that a mask names. Refuses an empty mask, and fields that cannot be changed. */
function checkMask(mask: Json | undefined, party: string): readonly string[] {
  const updateMask = asObject(mask);
  if (updateMask === undefined) throw missingField('update_mask');
  const paths = asTexts(updateMask['paths']);
  const unknownPath = paths.find((path) => !changeable.has(path));
  if (paths.length > 0 && unknownPath === undefined) return paths;
  const reason =
    unknownPath === undefined ? 'The update mask contains no entries' : `The update path '${unknownPath}' is invalid`;
  const cause = `Update operation for party '${party}' failed due to: ${reason}`;
  const resources = [['ErrorResource(PARTY)', party]] as const;
  throw failure({ code: 'INVALID_PARTY_DETAILS_UPDATE_REQUEST', category: 8, cause, resources });
}

/**
 * Parses an UpdatePartyDetailsRequest. Throws the redacted 403, MISSING_FIELD, INVALID_ARGUMENT or
 * INVALID_PARTY_DETAILS_UPDATE_REQUEST.
 */
export function parsePartyUpdate(body: JsonObject, pathParty: string, caller: Caller): PartyUpdate {
  const details = asObject(body['partyDetails']);
  const identityProviderId = asText(details?.['identityProviderId']);
  require(caller, [{ administer: identityProviderId }]);
  if (details === undefined) throw missingField('party_details');
  const party = asText(details['party']);
  if (party !== pathParty)
    throw invalidArgument(`party ${party} of the body is not the party ${pathParty} of the path`);
  const metadata = asObject(details['localMetadata']) ?? {};
  const requestedAnnotations = annotationsIn(metadata, 'party_details.local_metadata.annotations');
  const paths = checkMask(body['updateMask'], party);
  const changesAnnotations = paths.some((path) => path === 'local_metadata' || path === 'local_metadata.annotations');
  const annotations = changesAnnotations ? requestedAnnotations : {};
  return { party, identityProviderId, change: { resourceVersion: asText(metadata['resourceVersion']), annotations } };
}
