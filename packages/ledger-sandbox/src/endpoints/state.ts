/** The state of the ledger: its end, its pruning, its synchronizers, its active contracts. */
import type { Call, Endpoint, StreamEndpoint } from '../api/endpoint.ts';
import { listResponse, listOptions } from '../api/list-answer.ts';
import { connectedSynchronizers } from '../api/connected-synchronizers.ts';
import { activeContracts } from '../api/reader.ts';
import { parseActiveContractsRequest } from '../api/requests.ts';
import { serveActiveContracts } from '../api/streams.ts';
import { isFrom } from '../wire/release.ts';

function prunedOffsets({ participant }: Call): string {
  const prunedOffset = participant.ledger.prunedTo();
  return JSON.stringify({
    participantPrunedUpToInclusive: prunedOffset,
    allDivulgedContractsPrunedUpToInclusive: prunedOffset,
  });
}

/** `{offset}`; since 3.6 with the newest record time of each synchronizer. */
function ledgerEnd({ participant: { ledger, release } }: Call): string {
  const offset = ledger.ledgerEnd();
  if (!isFrom(release, '3.6')) return JSON.stringify({ offset });
  const times = [...ledger.recordTimes()];
  const synchronizerTimes = times.map(([synchronizerId, recordTime]) => ({ synchronizerId, recordTime }));
  return JSON.stringify({ offset, synchronizerTimes });
}

function listContracts({ participant, caller, body, query }: Call): string {
  const { limits } = participant;
  const { take: elementLimit } = listOptions(query, limits);
  const entries: string[] = [];
  for (const entry of activeContracts(participant, parseActiveContractsRequest(body, participant, caller))) {
    if (entries.length >= elementLimit) break;
    entries.push(entry);
  }
  return listResponse(entries, limits);
}

export const stateEndpoints: readonly Endpoint[] = [
  {
    method: 'GET',
    path: '/v2/state/ledger-end',
    summary: 'The offset of the newest update',
    response: 'GetLedgerEndResponse',
    run: ledgerEnd,
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
