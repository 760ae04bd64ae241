/** Updates: lists, streams, pages and lookups. */
import { expect } from 'vitest';
import { from, isFrom } from '../../../packages/ledger-sandbox/src/wire/release.ts';
import type { GetUpdatesRequest, UpdatesPage } from '../../../src/ledger/api/updates.ts';
import { decodeUpdate } from '../../support/wire/decode.ts';
import type { Call, Case, Session } from './row.ts';
import { hashOfExecuted } from './rows-interactive.ts';
import { all, byInterface, byTemplate, packageIdForm } from './rows-state.ts';
import { anyParty, updateFormat } from '../world.ts';

const far = 2 ** 52;

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

type Ask = (session: Session, request: GetUpdatesRequest) => Promise<unknown>;

const withEvents = (eventFormat: object): typeof updateFormat => ({
  ...updateFormat,
  includeTransactions: { ...updateFormat.includeTransactions, eventFormat: eventFormat as typeof anyParty },
});

/** Rejections of updates requests, the same for lists and streams. */
function rangeRefusals(ask: Ask): NonNullable<Case['refused']> {
  const filtered =
    (eventFormat: object): Call =>
    (session, { begin, ledgerEnd }) =>
      ask(session, { beginExclusive: begin, endInclusive: ledgerEnd, updateFormat: withEvents(eventFormat) });
  return {
    INVALID_ARGUMENT: (session, { pruned }) => ask(session, { beginExclusive: pruned, updateFormat, verbose: true }),
    MISSING_FIELD: (session, { pruned }) =>
      ask(session, {
        beginExclusive: pruned,
        updateFormat: {
          includeTransactions: { eventFormat: anyParty, transactionShape: 'TRANSACTION_SHAPE_UNSPECIFIED' },
        },
      }),
    NEGATIVE_OFFSET: (session) => ask(session, { beginExclusive: -1, updateFormat }),
    NON_POSITIVE_OFFSET: (session, { pruned }) =>
      ask(session, { beginExclusive: pruned, endInclusive: 0, updateFormat }),
    DESCENDING_ORDER_MISSING_END: (session, { pruned }) =>
      ask(session, { beginExclusive: pruned, descendingOrder: true, updateFormat }),
    OFFSET_OUT_OF_RANGE: (session, { ledgerEnd }) =>
      ask(session, { beginExclusive: ledgerEnd, endInclusive: ledgerEnd - 1, updateFormat }),
    OFFSET_AFTER_LEDGER_END: (session) => ask(session, { beginExclusive: far, updateFormat }),
    PARTICIPANT_PRUNED_DATA_ACCESSED: {
      run: (session, { ledgerEnd }) => ask(session, { beginExclusive: 0, endInclusive: ledgerEnd, updateFormat }),
      inSandbox: true,
    },
    INVALID_FIELD: filtered(byTemplate(packageIdForm)),
    PACKAGE_NAMES_NOT_FOUND: filtered(byTemplate('#no-such-package:A:B')),
    NO_TEMPLATES_FOR_PACKAGE_NAME_AND_QUALIFIED_NAME: {
      run: filtered(byTemplate('#conformance:Main:Nothing')),
      inSandbox: true,
    },
    NO_INTERFACE_FOR_PACKAGE_NAME_AND_QUALIFIED_NAME: {
      run: filtered(byInterface('#conformance:Main:Nothing')),
      inSandbox: true,
    },
  };
}

const tooMany: Call = ({ client }, { pruned, ledgerEnd }) =>
  all(client.updates.list({ beginExclusive: pruned, endInclusive: ledgerEnd, updateFormat }));
const listed: Ask = ({ client }, request) => all(client.updates.list(request, { limit: 20, streamIdleTimeoutMs: 50 }));
const streamed: Ask = ({ stream }, request) => stream('/v2/updates', request);

/** `/v2/updates/flats` and `/v2/updates/trees`: requests in the older format, which had no transaction shapes. */
function legacy(name: 'flats' | 'trees'): readonly Case[] {
  const common = {
    releases: ['3.4', '3.5'],
    deprecated: true,
    check: name === 'trees' ? checkTrees : checkUpdates,
  } as const;
  return [
    {
      ...common,
      operation: `POST /v2/updates/${name}`,
      readOnly: true,
      call: ({ client }, { begin, ledgerEnd }) =>
        all(
          client.updates[name](
            { beginExclusive: begin, endInclusive: ledgerEnd, filter: anyParty },
            { limit: 20, streamIdleTimeoutMs: 50 },
          ),
        ),
      body: 'json',
      badQuery: ['limit', 'stream_idle_timeout_ms'],
      refused: {
        INVALID_ARGUMENT: ({ client }, { pruned }) => all(client.updates[name]({ beginExclusive: pruned })),
        OFFSET_AFTER_LEDGER_END: ({ client }) => all(client.updates[name]({ beginExclusive: far, filter: anyParty })),
        JSON_API_MAXIMUM_LIST_ELEMENTS_NUMBER_REACHED: {
          run: ({ client }, { pruned, ledgerEnd }) =>
            all(client.updates[name]({ beginExclusive: pruned, endInclusive: ledgerEnd, filter: anyParty })),
          inSandbox: true,
        },
      },
    },
    {
      ...common,
      operation: `WS /v2/updates/${name}`,
      readOnly: true,
      call: ({ stream }, { begin, ledgerEnd }) =>
        stream(`/v2/updates/${name}`, { beginExclusive: begin, endInclusive: ledgerEnd, filter: anyParty }, 20),
      refused: {
        OFFSET_AFTER_LEDGER_END: ({ stream }) =>
          stream(`/v2/updates/${name}`, { beginExclusive: far, filter: anyParty }),
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
    call: (session, { begin, ledgerEnd }) =>
      listed(session, { beginExclusive: begin, endInclusive: ledgerEnd, updateFormat }),
    check: checkUpdates,
    also: {
      'open-ended': (session, { ledgerEnd }) => listed(session, { beginExclusive: ledgerEnd, updateFormat }),
      'legacy filter': {
        run: (session, { pruned, ledgerEnd }) =>
          listed(session, { beginExclusive: pruned, endInclusive: ledgerEnd, filter: anyParty }),
        releases: ['3.4', '3.5'],
      },
      descending: (session, { pruned, ledgerEnd }) =>
        listed(session, { beginExclusive: pruned, endInclusive: ledgerEnd, descendingOrder: true, updateFormat }),
    },
    body: 'json',
    badQuery: ['limit', 'stream_idle_timeout_ms'],
    refused: {
      ...rangeRefusals(listed),
      JSON_API_MAXIMUM_LIST_ELEMENTS_NUMBER_REACHED: { run: tooMany, inSandbox: true },
      '413 text/plain': ({ client }) => client.transport.request('POST', '/v2/updates', Buffer.alloc(2 ** 23 + 1, 32)),
    },
  },
  {
    operation: 'WS /v2/updates',
    readOnly: true,
    call: (session, { begin, ledgerEnd }) =>
      streamed(session, { beginExclusive: begin, endInclusive: ledgerEnd, updateFormat }),
    check: checkUpdates,
    also: {
      'tail, one checkpoint': async ({ stream }, { pruned }) => {
        const [frame = ''] = await stream('/v2/updates', { beginExclusive: pruned, updateFormat: {} }, 1);
        expect(decodeUpdate(frame).kind).toBe('offset_checkpoint');
        return frame;
      },
    },
    refused: {
      ...rangeRefusals(streamed),
      SERVER_OVERLOADED: {
        run: ({ stream }, { pruned }) => stream('/v2/updates', { beginExclusive: pruned, updateFormat }),
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
    check: (result, { pruned }) => expect((result as UpdatesPage).lowestPageOffsetExclusive).toBe(pruned),
    body: 'json',
    refused: {
      INVALID_UPDATES_PAGE_TOKEN: ({ client }) => client.updates.page({ updateFormat, pageToken: 'bm9uZQ==' }),
      NEGATIVE_OFFSET: ({ client }) => client.updates.page({ updateFormat, beginOffsetExclusive: -1 }),
      NON_POSITIVE_OFFSET: ({ client }) => client.updates.page({ updateFormat, endOffsetInclusive: 0 }),
      OFFSET_AFTER_LEDGER_END: ({ client }) => client.updates.page({ updateFormat, beginOffsetExclusive: far }),
      PACKAGE_NAMES_NOT_FOUND: ({ client }) =>
        client.updates.page({ updateFormat: withEvents(byTemplate('#no-such-package:A:B')) }),
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
      UPDATE_NOT_FOUND: ({ client }) => client.updates.byOffset(far, updateFormat),
      NON_POSITIVE_OFFSET: ({ client }) => client.updates.byOffset(0, updateFormat),
      PACKAGE_NAMES_NOT_FOUND: ({ client }, { update }) =>
        client.updates.byOffset(update.offset, withEvents(byTemplate('#no-such-package:A:B'))),
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
