/** Test cases for calls that read state, contracts and updates. */
import type { LedgerClient } from '../../../src/ledger/api/client.ts';
import { collect } from '../../support/all.ts';
import { party, escapedParty, eventFormat, updateFormat, created, update, type CallCase } from './call-case.ts';

export const state: readonly CallCase[] = [
  {
    operation: 'GET /v2/state/ledger-end',
    url: '/v2/state/ledger-end',
    call: ({ state }) => state.ledgerEndTimes(),
    answer: { offset: 5, synchronizerTimes: [{ synchronizerId: 's' }] },
    result: { offset: 5, synchronizerTimes: [{ synchronizerId: 's' }] },
  },
  {
    operation: 'GET /v2/state/latest-pruned-offsets',
    url: '/v2/state/latest-pruned-offsets',
    call: ({ state }) => state.latestPrunedOffsets(),
    answer: { participantPrunedUpToInclusive: 4, allDivulgedContractsPrunedUpToInclusive: 4 },
    result: 4,
  },
  {
    operation: 'GET /v2/state/connected-synchronizers',
    url: `/v2/state/connected-synchronizers?party=${escapedParty}&identityProviderId=i`,
    call: ({ state }) => state.connectedSynchronizers({ party, identityProviderId: 'i' }),
    answer: { connectedSynchronizers: [{ synchronizerAlias: 'g', synchronizerId: 'g::1' }] },
    result: [{ synchronizerAlias: 'g', synchronizerId: 'g::1', permission: '' }],
  },
  {
    operation: 'POST /v2/state/active-contracts',
    url: '/v2/state/active-contracts?limit=200',
    schema: 'GetActiveContractsRequest',
    body: { activeAtOffset: 5, eventFormat, streamContinuationToken: 'dA==' },
    call: ({ state }) =>
      collect(
        state.activeContracts({ activeAtOffset: 5, eventFormat, streamContinuationToken: 'dA==' }, { limit: 200 }),
      ),
    answer: [{ workflowId: '', contractEntry: { JsEmpty: {} } }],
    result: ['{"workflowId":"","contractEntry":{"JsEmpty":{}}}'],
  },
  ...(['POST', 'GET'] as const).map((method) => ({
    operation: `${method} /v2/state/active-contracts-page`,
    url: '/v2/state/active-contracts-page',
    schema: 'GetActiveContractsPageRequest',
    body: { eventFormat, maxPageSize: 1, pageToken: 'dA==' },
    call: ({ state }: LedgerClient) => {
      const request = { eventFormat, maxPageSize: 1, pageToken: 'dA==' };
      return method === 'POST' ? state.activeContractsPage(request) : state.activeContractsPageByGet(request);
    },
    answer: { activeContracts: [{ contractEntry: { JsEmpty: {} } }], activeAtOffset: 9, nextPageToken: null },
    result: { activeContracts: [{ contractEntry: { JsEmpty: {} } }], activeAtOffset: 9, nextPageToken: undefined },
  })),
  {
    operation: 'POST /v2/events/events-by-contract-id',
    url: '/v2/events/events-by-contract-id',
    schema: 'GetEventsByContractIdRequest',
    body: { contractId: '00', eventFormat },
    call: ({ events }) => events.byContractId('00', eventFormat),
    answer: { created: { createdEvent: created, synchronizerId: 's' }, archived: null },
    result: { created: { createdEvent: created, synchronizerId: 's' }, archived: null },
  },
  {
    operation: 'POST /v2/contracts/contract-by-id',
    url: '/v2/contracts/contract-by-id',
    schema: 'GetContractRequest',
    body: { contractId: '00', queryingParties: [party] },
    call: ({ events }) => events.contractById('00', [party]),
    answer: { createdEvent: created },
    result: created,
  },
];

const listCall = (name: 'flats' | 'trees'): CallCase => ({
  operation: `POST /v2/updates/${name}`,
  url: `/v2/updates/${name}`,
  schema: 'GetUpdatesRequest',
  body: { beginExclusive: 0, filter: { filtersByParty: { [party]: {} } }, verbose: false },
  call: ({ updates }) =>
    collect(updates[name]({ beginExclusive: 0, filter: { filtersByParty: { [party]: {} } }, verbose: false })),
  answer: [update],
  result: [JSON.stringify(update)],
});

export const updates: readonly CallCase[] = [
  {
    operation: 'POST /v2/updates',
    url: '/v2/updates?limit=3&stream_idle_timeout_ms=10',
    schema: 'GetUpdatesRequest',
    body: { beginExclusive: 1, endInclusive: 9, updateFormat, descendingOrder: true },
    call: ({ updates }) =>
      collect(
        updates.list(
          { beginExclusive: 1, endInclusive: 9, updateFormat, descendingOrder: true },
          { limit: 3, streamIdleTimeoutMs: 10 },
        ),
      ),
    answer: [update],
    result: [JSON.stringify(update)],
  },
  listCall('flats'),
  listCall('trees'),
  {
    operation: 'POST /v2/updates/get-updates-page',
    url: '/v2/updates/get-updates-page',
    schema: 'GetUpdatesPageRequest',
    body: { beginOffsetExclusive: 0, maxPageSize: 2, updateFormat },
    call: ({ updates }) => updates.page({ beginOffsetExclusive: 0, maxPageSize: 2, updateFormat }),
    answer: { updates: [update], lowestPageOffsetExclusive: 0, highestPageOffsetInclusive: 8, nextPageToken: 'dA==' },
    result: { updates: [update], lowestPageOffsetExclusive: 0, highestPageOffsetInclusive: 8, nextPageToken: 'dA==' },
  },
  {
    operation: 'POST /v2/updates/update-by-offset',
    url: '/v2/updates/update-by-offset',
    schema: 'GetUpdateByOffsetRequest',
    body: { offset: 7, updateFormat },
    call: ({ updates }) => updates.byOffset(7, updateFormat),
    answer: update,
    result: update,
  },
  {
    operation: 'POST /v2/updates/update-by-id',
    url: '/v2/updates/update-by-id',
    schema: 'GetUpdateByIdRequest',
    body: { updateId: '1220', updateFormat },
    call: ({ updates }) => updates.byId('1220', updateFormat),
    answer: { update: { LaterKind: { value: { offset: 3 } } } },
    result: { update: { LaterKind: { value: { offset: 3 } } } },
  },
  {
    operation: 'POST /v2/updates/update-by-hash',
    url: '/v2/updates/update-by-hash',
    body: { transactionHash: 'EiA=', updateFormat },
    call: ({ updates }) => updates.byHash('EiA=', updateFormat),
    answer: update,
    result: update,
    later: true,
  },
];
