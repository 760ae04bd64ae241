/** The state of the ledger, active contracts, and lookups of one contract. */
import { expect } from 'vitest';
import { from, isFrom } from '../../../packages/ledger-sandbox/src/wire/release.ts';
import type { ActiveContractsPage, GetActiveContractsRequest } from '../../../src/ledger/api/state.ts';
import type { LedgerClient } from '../../../src/ledger/api/client.ts';
import { decodeActiveContract } from '../../support/wire/decode.ts';
import type { Call, Case } from './row.ts';
import { accountTemplate, anyParty } from '../world.ts';

const unknownParty = 'Nobody::1220aa';

/** All elements of a list. */
export async function collect<T>(elements: AsyncIterable<T>): Promise<T[]> {
  const parsedElements: T[] = [];
  for await (const element of elements) parsedElements.push(element);
  return parsedElements;
}

const filteredRequest = (identifierFilter: object): object => ({
  filtersByParty: {},
  filtersForAnyParty: { cumulative: [{ identifierFilter }] },
});
/** An event format with a template filter. */
export const templateRequest = (templateId: string): object =>
  filteredRequest({ TemplateFilter: { value: { templateId } } });
/** An event format with an interface filter. */
export const interfaceRequest = (interfaceId: string): object =>
  filteredRequest({ InterfaceFilter: { value: { interfaceId } } });
export const packageIdForm = `${'ab'.repeat(32)}:Main:Thing`;

/** Checks that the decoder accepts every entry. */
function checkEntries(result: unknown): void {
  const entries = (result as string[]).map((text) => decodeActiveContract(text));
  expect(entries.length).toBeGreaterThan(0);
}

type SnapshotCall = (session: Parameters<Call>[0], request: GetActiveContractsRequest) => Promise<unknown>;

/** Rejections of active-contracts requests, the same for the list and the stream. */
function snapshotRefusals(call: SnapshotCall): NonNullable<Case['refused']> {
  const snapshotAt = (
    session: Parameters<Call>[0],
    activeAtOffset: number,
    eventFormat: object = anyParty,
  ): Promise<unknown> => call(session, { activeAtOffset, eventFormat });
  return {
    INVALID_ARGUMENT: (session, { ledgerEnd }) => call(session, { activeAtOffset: ledgerEnd }),
    NEGATIVE_OFFSET: (session) => snapshotAt(session, -1),
    OFFSET_AFTER_LEDGER_END: (session) => snapshotAt(session, 2 ** 52),
    PARTICIPANT_PRUNED_DATA_ACCESSED: {
      run: (session, { pruned: prunedOffset }) => snapshotAt(session, prunedOffset - 1),
      inSandbox: true,
    },
    INVALID_FIELD: (session, { ledgerEnd }) => snapshotAt(session, ledgerEnd, templateRequest(packageIdForm)),
    PACKAGE_NAMES_NOT_FOUND: (session, { ledgerEnd }) =>
      snapshotAt(session, ledgerEnd, templateRequest('#no-such-package:A:B')),
    NO_TEMPLATES_FOR_PACKAGE_NAME_AND_QUALIFIED_NAME: {
      run: (session, { ledgerEnd }) => snapshotAt(session, ledgerEnd, templateRequest('#conformance:Main:Nothing')),
      inSandbox: true,
    },
    NO_INTERFACE_FOR_PACKAGE_NAME_AND_QUALIFIED_NAME: {
      run: (session, { ledgerEnd }) => snapshotAt(session, ledgerEnd, interfaceRequest('#conformance:Main:Nothing')),
      inSandbox: true,
    },
    INVALID_CONTINUATION_TOKEN: (session, { ledgerEnd }) =>
      call(session, { activeAtOffset: ledgerEnd, eventFormat: anyParty, streamContinuationToken: 'bm9uZQ==' }),
  };
}

const listActive: SnapshotCall = ({ client }, request) => collect(client.state.activeContracts(request, { limit: 5 }));
const streamed: SnapshotCall = ({ stream }, request) => stream('/v2/state/active-contracts', request);

export const stateCases: readonly Case[] = [
  {
    operation: 'GET /v2/state/ledger-end',
    needs: 'token',
    readOnly: true,
    call: ({ client }) => client.state.ledgerEndTimes(),
    check: (result, { release }) => {
      const { offset, synchronizerTimes } = result as Awaited<ReturnType<LedgerClient['state']['ledgerEndTimes']>>;
      expect(offset).toBeGreaterThan(0);
      expect(synchronizerTimes.length > 0).toBe(isFrom(release, '3.6'));
    },
  },
  {
    operation: 'GET /v2/state/latest-pruned-offsets',
    needs: 'token',
    readOnly: true,
    call: ({ client }) => client.state.latestPrunedOffsets(),
    check: (result, { pruned: prunedOffset }) => expect(result).toBe(prunedOffset),
  },
  {
    operation: 'GET /v2/state/connected-synchronizers',
    needs: 'token',
    readOnly: true,
    call: ({ client }) => client.state.connectedSynchronizers(),
    check: (result, { synchronizers }) => expect(JSON.stringify(result)).toContain(synchronizers[0]),
    also: { 'of a party': ({ client }, { alice }) => client.state.connectedSynchronizers({ party: alice }) },
    refused: {
      '403': {
        as: 'nobody',
        run: ({ client }) => client.state.connectedSynchronizers({ party: unknownParty }),
      },
    },
  },
  {
    operation: 'POST /v2/state/active-contracts',
    readOnly: true,
    call: ({ client }, { ledgerEnd }) =>
      collect(client.state.activeContracts({ activeAtOffset: ledgerEnd, eventFormat: anyParty }, { limit: 20 })),
    check: checkEntries,
    also: {
      'the lowest legal offset': (session, { pruned: prunedOffset }) =>
        listActive(session, { activeAtOffset: prunedOffset, eventFormat: anyParty }),
      'legacy filter': {
        run: (session, { ledgerEnd }) => listActive(session, { activeAtOffset: ledgerEnd, filter: anyParty }),
        releases: ['3.4', '3.5'],
      },
    },
    body: 'json',
    badQuery: ['limit', 'stream_idle_timeout_ms'],
    refused: {
      ...snapshotRefusals(listActive),
      JSON_API_MAXIMUM_LIST_ELEMENTS_NUMBER_REACHED: {
        run: ({ client }, { ledgerEnd }) =>
          collect(client.state.activeContracts({ activeAtOffset: ledgerEnd, eventFormat: anyParty })),
        inSandbox: true,
      },
    },
  },
  {
    operation: 'WS /v2/state/active-contracts',
    readOnly: true,
    // A sandbox streams to the normal end. On another participant, some entries are enough.
    call: ({ stream }, { ledgerEnd, sandbox }) => {
      const elementLimit = sandbox === undefined ? 50 : Infinity;
      return stream('/v2/state/active-contracts', { activeAtOffset: ledgerEnd, eventFormat: anyParty }, elementLimit);
    },
    check: checkEntries,
    refused: snapshotRefusals(streamed),
  },
  ...(['POST', 'GET'] as const).map((method): Case => {
    const page =
      ({ state }: LedgerClient): LedgerClient['state']['activeContractsPage'] =>
      (request) =>
        method === 'POST' ? state.activeContractsPage(request) : state.activeContractsPageByGet(request);
    return {
      operation: `${method} /v2/state/active-contracts-page`,
      ...(method === 'POST' ? { releases: from('3.5') } : { releases: ['3.5'], deprecated: true }),
      readOnly: method === 'POST',
      call: ({ client }, { ledgerEnd }) =>
        page(client)({ activeAtOffset: ledgerEnd, eventFormat: anyParty, maxPageSize: 10 }),
      check: (result, { ledgerEnd }) => expect((result as ActiveContractsPage).activeAtOffset).toBe(ledgerEnd),
      body: 'json',
      refused: {
        INVALID_ACS_PAGE_TOKEN: ({ client }) => page(client)({ eventFormat: anyParty, pageToken: 'bm9uZQ==' }),
        INVALID_ARGUMENT: ({ client }) => page(client)({ eventFormat: { filtersByParty: {} } }),
        OFFSET_AFTER_LEDGER_END: ({ client }) => page(client)({ eventFormat: anyParty, activeAtOffset: 2 ** 52 }),
      },
    };
  }),
];

export const contractCases: readonly Case[] = [
  {
    operation: 'POST /v2/events/events-by-contract-id',
    readOnly: true,
    call: ({ client }, { contractId }) => client.events.byContractId(contractId, anyParty),
    check: (result, { contractId }) => expect(result).toMatchObject({ created: { createdEvent: { contractId } } }),
    body: 'json',
    refused: {
      CONTRACT_EVENTS_NOT_FOUND: ({ client }) => client.events.byContractId('00ff', anyParty),
      INVALID_ARGUMENT: ({ client }) => client.events.byContractId('00ff', { filtersByParty: {} }),
      MISSING_FIELD: ({ client }) => client.events.byContractId('', anyParty),
      PACKAGE_NAMES_NOT_FOUND: ({ client }) =>
        client.events.byContractId('00ff', templateRequest('#no-such-package:A:B')),
    },
  },
  {
    operation: 'POST /v2/contracts/contract-by-id',
    readOnly: true,
    call: ({ client }, { contractId }) => client.events.contractById(contractId),
    check: (result, { contractId }) => expect(result).toMatchObject({ contractId }),
    also: {
      'as a party': async ({ client }, { alice, ledgerEnd }) => {
        const eventFormat = { filtersByParty: { [alice]: {} } };
        const { activeContracts } = await client.state
          .activeContractsPage({ eventFormat, activeAtOffset: ledgerEnd, maxPageSize: 1 })
          .catch(() => ({ activeContracts: [] }));
        const activeContract = activeContracts[0]?.contractEntry?.JsActiveContract?.createdEvent;
        const contractEvents = await client.events.contractById(activeContract?.contractId ?? '00ff', [alice]);
        expect(contractEvents?.contractId).toBe(activeContract?.contractId);
        expect(activeContract === undefined || activeContract.templateId.endsWith(accountTemplate.slice(14))).toBe(
          true,
        );
        return contractEvents;
      },
    },
    body: 'json',
    refused: { CONTRACT_PAYLOAD_NOT_FOUND: ({ client }) => client.events.contractById('00ff') },
  },
];
