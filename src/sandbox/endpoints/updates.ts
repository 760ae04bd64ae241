/** Updates: the list form, the stream, and the look-ups of one. */
import { require } from '../caller.ts';
import type { Call, Endpoint, StreamEndpoint } from '../endpoint.ts';
import { failure, missingField } from '../failure.ts';
import { parseUpdateFormat } from '../format.ts';
import type { StoredUpdate } from '../history.ts';
import { asObject, asText } from '../json.ts';
import { changed, listAnswer, listOptions } from '../list-answer.ts';
import { updateFormatNeeds } from '../read-rights.ts';
import { UpdatesReader } from '../reader.ts';
import { Renderer } from '../render.ts';
import { parseUpdatesRequest } from '../requests.ts';
import { serveUpdates } from '../streams.ts';

async function listUpdates({ participant, caller, body, query }: Call): Promise<string> {
  const { ledger, limits } = participant;
  const request = parseUpdatesRequest(body, ledger, caller);
  const { take, waitMs } = listOptions(query, limits);
  const reader = new UpdatesReader(ledger, request);
  const frames: string[] = [];
  while (frames.length < take && !reader.finished) {
    frames.push(...reader.read());
    if (request.endInclusive === undefined && reader.caughtUp && !(await changed(ledger, waitMs))) break;
  }
  return listAnswer(frames.slice(0, take), limits);
}

function lookUp(call: Call, key: string, matches: (stored: StoredUpdate) => boolean): string {
  const { ledger } = call.participant;
  const asked = asObject(call.body['updateFormat']);
  if (asked === undefined) throw missingField('update_format');
  require(call.caller, updateFormatNeeds(asked));
  const format = parseUpdateFormat(asked, ledger.model);
  const stored = ledger.findUpdate(matches);
  const answer = stored === undefined ? undefined : new Renderer(ledger.model).update(stored, format);
  if (answer !== undefined) return answer;
  const cause = 'Update not found, or not visible.';
  throw failure({ code: 'UPDATE_NOT_FOUND', category: 11, cause, resources: [['TRANSACTION_ID', key]] });
}

function updateByOffset(call: Call): string {
  const offset = call.body['offset'];
  return lookUp(call, JSON.stringify(offset ?? 0), (stored) => stored.offset === offset);
}

function updateById(call: Call): string {
  const id = asText(call.body['updateId']);
  const needle = `"updateId":${JSON.stringify(id)}`;
  return lookUp(call, id, ({ raw, update }) => (raw ?? JSON.stringify(update)).includes(needle));
}

export const updateEndpoints: readonly Endpoint[] = [
  {
    method: 'POST',
    path: '/v2/updates',
    summary: 'Updates after an offset, as a list',
    query: ['limit', 'stream_idle_timeout_ms'],
    request: 'GetUpdatesRequest',
    response: 'JsGetUpdatesResponse[]',
    run: listUpdates,
  },
  {
    method: 'POST',
    path: '/v2/updates/update-by-offset',
    summary: 'The update at an offset',
    request: 'GetUpdateByOffsetRequest',
    response: 'JsGetUpdateResponse',
    run: updateByOffset,
  },
  {
    method: 'POST',
    path: '/v2/updates/update-by-id',
    summary: 'The update with an id',
    request: 'GetUpdateByIdRequest',
    response: 'JsGetUpdateResponse',
    run: updateById,
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
];
