/** Updates after an offset: the list form and the stream, with their deprecated flat and tree forms. */
import type { Call, Endpoint, StreamEndpoint } from '../api/endpoint.ts';
import { listResponse, listOptions, collectElements } from '../api/list-answer.ts';
import { UpdatesReader } from '../api/reader.ts';
import { parseUpdatesRequest } from '../api/requests.ts';
import type { UpdatesForm } from '../api/requests.ts';
import { serveUpdates } from '../api/streams.ts';

async function listUpdates({ participant, caller, body, query }: Call, form: UpdatesForm): Promise<string> {
  const { ledger, limits } = participant;
  const request = parseUpdatesRequest(body, participant, caller, form);
  const reader = new UpdatesReader(participant, request);
  return listResponse(await collectElements(ledger, reader, listOptions(query, limits)), limits);
}

const list = { method: 'POST', query: ['limit', 'stream_idle_timeout_ms'], request: 'GetUpdatesRequest' } as const;
const until36 = { last: '3.6', deprecatedIn: '3.4' } as const;

export const updateEndpoints: readonly Endpoint[] = [
  {
    ...list,
    path: '/v2/updates',
    summary: 'Updates after an offset, as a list',
    response: 'JsGetUpdatesResponse[]',
    run: (call) => listUpdates(call, 'updates'),
  },
  {
    ...list,
    ...until36,
    path: '/v2/updates/flats',
    summary: 'Updates after an offset, as a list; the same as /v2/updates',
    response: 'JsGetUpdatesResponse[]',
    run: (call) => listUpdates(call, 'updates'),
  },
  {
    ...list,
    ...until36,
    path: '/v2/updates/trees',
    summary: 'Updates after an offset, as a list, with transactions as trees',
    response: 'JsGetUpdateTreesResponse[]',
    run: (call) => listUpdates(call, 'trees'),
  },
];

export const updateStreams: readonly StreamEndpoint[] = [
  {
    path: '/v2/updates',
    summary: 'Updates after an offset',
    request: 'GetUpdatesRequest',
    response: 'JsGetUpdatesResponse',
    serve: serveUpdates,
  },
  {
    ...until36,
    path: '/v2/updates/flats',
    summary: 'Updates after an offset; the same as /v2/updates',
    request: 'GetUpdatesRequest',
    response: 'JsGetUpdatesResponse',
    serve: serveUpdates,
  },
  {
    ...until36,
    path: '/v2/updates/trees',
    summary: 'Updates after an offset, with transactions as trees',
    request: 'GetUpdatesRequest',
    response: 'JsGetUpdateTreesResponse',
    serve: (connection, text, participant, caller) => serveUpdates(connection, text, participant, caller, 'trees'),
  },
];
