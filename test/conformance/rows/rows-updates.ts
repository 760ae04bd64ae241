/** Updates: lists, streams, pages and lookups. */
import { expect } from 'vitest';
import { from, isFrom } from '../../../packages/ledger-sandbox/src/wire/release.ts';
import type { GetUpdatesRequest, UpdatesPage } from '../../../src/ledger/api/updates.ts';
import { decodeUpdate } from '../../support/wire/decode.ts';
import type { Call, Case, Session } from './row.ts';
import { hashOfExecuted } from './rows-interactive.ts';
import { collect, interfaceRequest, templateRequest, packageIdForm } from './rows-state.ts';
import { anyParty, updateFormat } from '../world.ts';

const farOffset = 2 ** 52;

/** Checks that the decoder accepts every frame. */
function checkUpdates(result: unknown): void {
  const updates = (result as string[]).map((text) => decodeUpdate(text));
  expect(updates.length).toBeGreaterThan(0);
}

function checkTrees(result: unknown): void {
  const texts = result as string[];
  expect(texts.length).toBeGreaterThan(0);
  expect(texts.join('\n')).toContain('"eventsById"');
}

type UpdatesCall = (session: Session, request: GetUpdatesRequest) => Promise<unknown>;

const withEvents = (eventFormat: object): typeof updateFormat => ({
  ...updateFormat,
  includeTransactions: { ...updateFormat.includeTransactions, eventFormat: eventFormat as typeof anyParty },
});

/** Rejections of updates requests, the same for lists and streams. */
function rangeRefusals(call: UpdatesCall): NonNullable<Case['refused']> {
  const filteredCall =
    (eventFormat: object): Call =>
    (session, { begin: beginOffset, ledgerEnd }) =>
      call(session, { beginExclusive: beginOffset, endInclusive: ledgerEnd, updateFormat: withEvents(eventFormat) });
  return {
    INVALID_ARGUMENT: (session, { pruned: prunedOffset }) =>
      call(session, { beginExclusive: prunedOffset, updateFormat, verbose: true }),
    MISSING_FIELD: (session, { pruned: prunedOffset }) =>
      call(session, {
        beginExclusive: prunedOffset,
        updateFormat: {
          includeTransactions: { eventFormat: anyParty, transactionShape: 'TRANSACTION_SHAPE_UNSPECIFIED' },
        },
      }),
    NEGATIVE_OFFSET: (session) => call(session, { beginExclusive: -1, updateFormat }),
    NON_POSITIVE_OFFSET: (session, { pruned: prunedOffset }) =>
      call(session, { beginExclusive: prunedOffset, endInclusive: 0, updateFormat }),
    DESCENDING_ORDER_MISSING_END: (session, { pruned: prunedOffset }) =>
      call(session, { beginExclusive: prunedOffset, descendingOrder: true, updateFormat }),
    OFFSET_OUT_OF_RANGE: (session, { ledgerEnd }) =>
      call(session, { beginExclusive: ledgerEnd, endInclusive: ledgerEnd - 1, updateFormat }),
    OFFSET_AFTER_LEDGER_END: (session) => call(session, { beginExclusive: farOffset, updateFormat }),
    PARTICIPANT_PRUNED_DATA_ACCESSED: {
      run: (session, { ledgerEnd }) => call(session, { beginExclusive: 0, endInclusive: ledgerEnd, updateFormat }),
      inSandbox: true,
    },
    INVALID_FIELD: filteredCall(templateRequest(packageIdForm)),
    PACKAGE_NAMES_NOT_FOUND: filteredCall(templateRequest('#no-such-package:A:B')),
    NO_TEMPLATES_FOR_PACKAGE_NAME_AND_QUALIFIED_NAME: {
      run: filteredCall(templateRequest('#conformance:Main:Nothing')),
      inSandbox: true,
    },
    NO_INTERFACE_FOR_PACKAGE_NAME_AND_QUALIFIED_NAME: {
      run: filteredCall(interfaceRequest('#conformance:Main:Nothing')),
      inSandbox: true,
    },
  };
}

const oversizedPage: Call = ({ client }, { pruned: prunedOffset, ledgerEnd }) =>
  collect(client.updates.list({ beginExclusive: prunedOffset, endInclusive: ledgerEnd, updateFormat }));
const listUpdates: UpdatesCall = ({ client }, request) =>
  collect(client.updates.list(request, { limit: 20, streamIdleTimeoutMs: 50 }));
const streamed: UpdatesCall = ({ stream }, request) => stream('/v2/updates', request);

/** `/v2/updates/flats` and `/v2/updates/trees`: requests in the older format, which had no transaction shapes. */
function legacy(name: 'flats' | 'trees'): readonly Case[] {
  const commonOptions = {
    releases: ['3.4', '3.5'],
    deprecated: true,
    check: name === 'trees' ? checkTrees : checkUpdates,
  } as const;
  return [
    {
      ...commonOptions,
      operation: `POST /v2/updates/${name}`,
      readOnly: true,
      call: ({ client }, { begin: beginOffset, ledgerEnd }) =>
        collect(
          client.updates[name](
            { beginExclusive: beginOffset, endInclusive: ledgerEnd, filter: anyParty },
            { limit: 20, streamIdleTimeoutMs: 50 },
          ),
        ),
      body: 'json',
      badQuery: ['limit', 'stream_idle_timeout_ms'],
      refused: {
        INVALID_ARGUMENT: ({ client }, { pruned: prunedOffset }) =>
          collect(client.updates[name]({ beginExclusive: prunedOffset })),
        OFFSET_AFTER_LEDGER_END: ({ client }) =>
          collect(client.updates[name]({ beginExclusive: farOffset, filter: anyParty })),
        JSON_API_MAXIMUM_LIST_ELEMENTS_NUMBER_REACHED: {
          run: ({ client }, { pruned: prunedOffset, ledgerEnd }) =>
            collect(client.updates[name]({ beginExclusive: prunedOffset, endInclusive: ledgerEnd, filter: anyParty })),
          inSandbox: true,
        },
      },
    },
    {
      ...commonOptions,
      operation: `WS /v2/updates/${name}`,
      readOnly: true,
      call: ({ stream }, { begin: beginOffset, ledgerEnd }) =>
        stream(`/v2/updates/${name}`, { beginExclusive: beginOffset, endInclusive: ledgerEnd, filter: anyParty }, 20),
      refused: {
        OFFSET_AFTER_LEDGER_END: ({ stream }) =>
          stream(`/v2/updates/${name}`, { beginExclusive: farOffset, filter: anyParty }),
        PARTICIPANT_PRUNED_DATA_ACCESSED: {
          run: ({ stream }) => stream(`/v2/updates/${name}`, { beginExclusive: 0, filter: anyParty }),
          inSandbox: true,
        },
      },
    },
  ];
}

export const updateCases: readonly Case[] = [
  {
    operation: 'POST /v2/updates',
    readOnly: true,
    call: (session, { begin: beginOffset, ledgerEnd }) =>
      listUpdates(session, { beginExclusive: beginOffset, endInclusive: ledgerEnd, updateFormat }),
    check: checkUpdates,
    also: {
      'open-ended': (session, { ledgerEnd }) => listUpdates(session, { beginExclusive: ledgerEnd, updateFormat }),
      'legacy filter': {
        run: (session, { pruned: prunedOffset, ledgerEnd }) =>
          listUpdates(session, { beginExclusive: prunedOffset, endInclusive: ledgerEnd, filter: anyParty }),
        releases: ['3.4', '3.5'],
      },
      descending: (session, { pruned: prunedOffset, ledgerEnd }) =>
        listUpdates(session, {
          beginExclusive: prunedOffset,
          endInclusive: ledgerEnd,
          descendingOrder: true,
          updateFormat,
        }),
    },
    body: 'json',
    badQuery: ['limit', 'stream_idle_timeout_ms'],
    refused: {
      ...rangeRefusals(listUpdates),
      JSON_API_MAXIMUM_LIST_ELEMENTS_NUMBER_REACHED: { run: oversizedPage, inSandbox: true },
      '413 text/plain': ({ client }) => client.transport.request('POST', '/v2/updates', Buffer.alloc(2 ** 23 + 1, 32)),
    },
  },
  {
    operation: 'WS /v2/updates',
    readOnly: true,
    call: (session, { begin: beginOffset, ledgerEnd }) =>
      streamed(session, { beginExclusive: beginOffset, endInclusive: ledgerEnd, updateFormat }),
    check: checkUpdates,
    also: {
      'tail, one checkpoint': async ({ stream }, { pruned: prunedOffset }) => {
        const [frame = ''] = await stream('/v2/updates', { beginExclusive: prunedOffset, updateFormat: {} }, 1);
        expect(decodeUpdate(frame).kind).toBe('offset_checkpoint');
        return frame;
      },
    },
    refused: {
      ...rangeRefusals(streamed),
      SERVER_OVERLOADED: {
        run: ({ stream }, { pruned: prunedOffset }) =>
          stream('/v2/updates', { beginExclusive: prunedOffset, updateFormat }),
        fault: { streamFailure: { failure: 'SERVER_OVERLOADED', path: '/v2/updates', times: 1 } },
      },
    },
  },
  ...legacy('flats'),
  ...legacy('trees'),
  {
    operation: 'POST /v2/updates/get-updates-page',
    releases: from('3.5'),
    readOnly: true,
    call: ({ client }) => client.updates.page({ updateFormat, maxPageSize: 10 }),
    check: (result, { pruned: prunedOffset }) =>
      expect((result as UpdatesPage).lowestPageOffsetExclusive).toBe(prunedOffset),
    body: 'json',
    refused: {
      INVALID_UPDATES_PAGE_TOKEN: ({ client }) => client.updates.page({ updateFormat, pageToken: 'bm9uZQ==' }),
      NEGATIVE_OFFSET: ({ client }) => client.updates.page({ updateFormat, beginOffsetExclusive: -1 }),
      NON_POSITIVE_OFFSET: ({ client }) => client.updates.page({ updateFormat, endOffsetInclusive: 0 }),
      OFFSET_AFTER_LEDGER_END: ({ client }) => client.updates.page({ updateFormat, beginOffsetExclusive: farOffset }),
      PACKAGE_NAMES_NOT_FOUND: ({ client }) =>
        client.updates.page({ updateFormat: withEvents(templateRequest('#no-such-package:A:B')) }),
      PARTICIPANT_PRUNED_DATA_ACCESSED: {
        run: ({ client }) => client.updates.page({ updateFormat, beginOffsetExclusive: 1 }),
        inSandbox: true,
      },
    },
  },
];

export const lookupCases: readonly Case[] = [
  {
    operation: 'POST /v2/updates/update-by-offset',
    readOnly: true,
    call: ({ client }, { update }) => client.updates.byOffset(update.offset, updateFormat),
    check: (result, { update }) => expect(JSON.stringify(result)).toContain(`"offset":${update.offset}`),
    body: 'json',
    refused: {
      UPDATE_NOT_FOUND: ({ client }) => client.updates.byOffset(farOffset, updateFormat),
      NON_POSITIVE_OFFSET: ({ client }) => client.updates.byOffset(0, updateFormat),
      PACKAGE_NAMES_NOT_FOUND: ({ client }, { update }) =>
        client.updates.byOffset(update.offset, withEvents(templateRequest('#no-such-package:A:B'))),
    },
  },
  {
    operation: 'POST /v2/updates/update-by-id',
    readOnly: true,
    call: ({ client }, { update }) => client.updates.byId(update.updateId, updateFormat),
    check: (result, { update }) => expect(JSON.stringify(result)).toContain(update.updateId),
    body: 'json',
    refused: {
      UPDATE_NOT_FOUND: ({ client }) => client.updates.byId(`1220${'0'.repeat(64)}`, updateFormat),
      MISSING_FIELD: ({ client }) => client.updates.byId('', updateFormat),
    },
  },
  {
    operation: 'POST /v2/updates/update-by-hash',
    releases: from('3.6'),
    call: async ({ client }, world) => {
      const hash = isFrom(world.release, '3.6') ? await hashOfExecuted(world) : 'EiA=';
      return await client.updates.byHash(hash, updateFormat);
    },
    check: (result) => expect(JSON.stringify(result)).toContain('"transactionHash":"'),
    refused: {
      UPDATE_NOT_FOUND: { run: ({ client }) => client.updates.byHash('EiA=', updateFormat), releases: from('3.6') },
      '401': {
        run: ({ client }) => client.updates.byHash('EiA=', updateFormat),
        as: 'stranger',
        releases: from('3.6'),
      },
      '403': { run: ({ client }) => client.updates.byHash('EiA=', updateFormat), as: 'nobody', releases: from('3.6') },
    },
    needs: 'nothing',
  },
];
