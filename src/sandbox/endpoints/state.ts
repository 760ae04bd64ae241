/** The state of the ledger: its end, its pruning, its synchronizers, its active contracts. */
import type { Call, Endpoint, StreamEndpoint } from '../endpoint.ts';
import { listAnswer, listOptions } from '../list-answer.ts';
import { activeContracts } from '../reader.ts';
import { parseActiveContractsRequest } from '../requests.ts';
import { serveActiveContracts } from '../streams.ts';

function prunedOffsets({ participant }: Call): string {
  const pruned = participant.ledger.prunedTo();
  return JSON.stringify({
    participantPrunedUpToInclusive: pruned,
    allDivulgedContractsPrunedUpToInclusive: pruned,
  });
}

function connectedSynchronizers({ participant }: Call): string {
  const permission = 'PARTICIPANT_PERMISSION_UNSPECIFIED';
  const connected = participant.ledger.synchronizers.map(({ alias, id }) => ({
    synchronizerAlias: alias,
    synchronizerId: id,
    permission,
  }));
  return JSON.stringify({ connectedSynchronizers: connected });
}

function listContracts({ participant, caller, body, query }: Call): string {
  const { ledger, limits } = participant;
  const { take } = listOptions(query, limits);
  const entries: string[] = [];
  for (const entry of activeContracts(ledger, parseActiveContractsRequest(body, ledger, caller))) {
    if (entries.length >= take) break;
    entries.push(entry);
  }
  return listAnswer(entries, limits);
}

export const stateEndpoints: readonly Endpoint[] = [
  {
    method: 'GET',
    path: '/v2/state/ledger-end',
    summary: 'The offset of the newest update',
    response: 'GetLedgerEndResponse',
    run: ({ participant }) => JSON.stringify({ offset: participant.ledger.ledgerEnd() }),
  },
  {
    method: 'GET',
    path: '/v2/state/latest-pruned-offsets',
    summary: 'The offset up to which updates were pruned',
    response: 'GetLatestPrunedOffsetsResponse',
    run: prunedOffsets,
  },
  {
    method: 'GET',
    path: '/v2/state/connected-synchronizers',
    summary: 'The synchronizers the participant is connected to',
    query: ['party', 'participantId', 'identityProviderId'],
    response: 'GetConnectedSynchronizersResponse',
    run: connectedSynchronizers,
  },
  {
    method: 'POST',
    path: '/v2/state/active-contracts',
    summary: 'The contracts active at an offset, as a list',
    query: ['limit', 'stream_idle_timeout_ms'],
    request: 'GetActiveContractsRequest',
    response: 'JsGetActiveContractsResponse[]',
    run: listContracts,
  },
];

export const stateStreams: readonly StreamEndpoint[] = [
  {
    path: '/v2/state/active-contracts',
    summary: 'The contracts active at an offset',
    request: 'GetActiveContractsRequest',
    response: 'JsGetActiveContractsResponse',
    serve: serveActiveContracts,
  },
];
