/** Parties and the participant's own id. */
import type { Call, Endpoint } from '../endpoint.ts';

function listParties({ participant }: Call): string {
  const partyDetails = [...participant.ledger.localParties()].sort().map((party) => ({
    party,
    isLocal: true,
    localMetadata: { resourceVersion: '', annotations: {} },
    identityProviderId: '',
  }));
  return JSON.stringify({ partyDetails, nextPageToken: '' });
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
    method: 'GET',
    path: '/v2/parties/participant-id',
    summary: 'The id of the participant',
    response: 'GetParticipantIdResponse',
    run: ({ participant }) => JSON.stringify({ participantId: participant.ledger.participantId }),
  },
];
