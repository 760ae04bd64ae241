/** Parties: the list of known ones, new ones, their metadata, and the participant's own id. */
import { require } from '../identity/caller.ts';
import type { Call, Endpoint } from '../api/endpoint.ts';
import { pageOf, pageRequestOf } from '../wire/page.ts';
import { parseAllocation, parsePartyUpdate } from '../api/party-requests.ts';
import type { PartyRecord } from '../parties/parties.ts';

/** `maxPartiesPageSize` of GET /v2/version. */
const largestPage = 10_000;

/**
 * A party in the form that users of an identity provider may see. They get metadata of parties of their own provider,
 * and a party of another provider looks like one that is hosted elsewhere. The default provider (empty) sees the
 * hosting of every party, but no metadata of other providers.
 */
function bodyOf(record: PartyRecord, identityProviderId: string): unknown {
  const { party, annotations, resourceVersion } = record;
  const isOwnVersion = resourceVersion !== '' && record.identityProviderId === identityProviderId;
  return {
    party,
    isLocal: isOwnVersion || identityProviderId === '',
    localMetadata: isOwnVersion ? { resourceVersion, annotations } : { resourceVersion: '', annotations: {} },
    identityProviderId: isOwnVersion ? identityProviderId : '',
  };
}

/** The provider in a query. Its administrators may send the query. */
function providerOf({ caller, query }: Call): string {
  const identityProviderId = query.get('identity-provider-id') ?? '';
  require(caller, [{ administer: identityProviderId }]);
  return identityProviderId;
}

function details({ participant }: Call, parties: readonly string[], identityProviderId: string): readonly unknown[] {
  const records = parties.map((party) => participant.parties.find(party));
  return records.flatMap((record) => (record === undefined ? [] : [bodyOf(record, identityProviderId)]));
}

function listParties(call: Call): string {
  const identityProviderId = providerOf(call);
  const prefix = call.query.get('filter-party') ?? '';
  const matchingParties = call.participant.parties.all().filter((party) => party.startsWith(prefix));
  const page = pageOf(matchingParties, (party) => party, pageRequestOf(call.query), largestPage);
  const partyDetails = details(call, page.elements, identityProviderId);
  return JSON.stringify({ partyDetails, nextPageToken: page.nextPageToken });
}

function getParties(call: Call): string {
  const identityProviderId = providerOf(call);
  const requestedParties = [call.path['party'] ?? '', ...call.query.getAll('parties')];
  return JSON.stringify({ partyDetails: details(call, [...new Set(requestedParties)], identityProviderId) });
}

function allocate({ participant, caller, body }: Call): string {
  const { hosting, userId } = parseAllocation(body, participant, caller);
  const record = participant.parties.host(hosting);
  if (userId !== '') participant.users.grant(userId, [{ kind: 'CanActAs', party: hosting.party }]);
  return JSON.stringify({ partyDetails: bodyOf(record, hosting.identityProviderId) });
}

function update({ participant, caller, body, path }: Call): string {
  const { party, change, identityProviderId } = parsePartyUpdate(body, path['party'] ?? '', caller);
  const record = participant.parties.update(party, change, identityProviderId);
  return JSON.stringify({ partyDetails: bodyOf(record, identityProviderId) });
}

function participantId({ participant, caller }: Call): string {
  require(caller, [participant.participantIdNeeds]);
  return JSON.stringify({ participantId: participant.ledger.participantId });
}

export const partyEndpoints: readonly Endpoint[] = [
  {
    method: 'GET',
    path: '/v2/parties',
    summary: 'The parties the participant knows',
    query: ['identity-provider-id', 'filter-party', 'pageSize', 'pageToken'],
    response: 'ListKnownPartiesResponse',
    run: listParties,
  },
  {
    method: 'POST',
    path: '/v2/parties',
    summary: 'Host a new party',
    request: 'AllocatePartyRequest',
    response: 'AllocatePartyResponse',
    run: allocate,
  },
  {
    method: 'GET',
    path: '/v2/parties/participant-id',
    summary: 'The id of the participant',
    response: 'GetParticipantIdResponse',
    run: participantId,
  },
  {
    method: 'GET',
    path: '/v2/parties/{party}',
    summary: 'Parties by id; unknown ones are omitted',
    query: ['identity-provider-id', 'parties'],
    response: 'GetPartiesResponse',
    run: getParties,
  },
  {
    method: 'PATCH',
    path: '/v2/parties/{party}',
    summary: 'Change the annotations of a party',
    request: 'UpdatePartyDetailsRequest',
    response: 'UpdatePartyDetailsResponse',
    run: update,
  },
];
