/** Completions, which report the results of submissions: as a list and as a stream, of one user and of all users. */
import { require } from '../identity/caller.ts';
import type { Caller } from '../identity/caller.ts';
import { CompletionsReader, parseCompletions } from '../api/completion-requests.ts';
import type { CompletionsForm } from '../api/completion-requests.ts';
import type { Connection } from '../faults/connection.ts';
import type { Call, Endpoint, StreamEndpoint } from '../api/endpoint.ts';
import { listResponse, listOptions, collectElements } from '../api/list-answer.ts';
import type { Participant } from '../api/participant.ts';
import { decode, follow, guardStream } from '../api/streams.ts';
import { hashOf } from '../api/requests.ts';
import { visibleCompletion } from '../ledger/completions.ts';
import { failure } from '../wire/failure.ts';
import { asText } from '../wire/json.ts';

/** Completions have no end, so the list ends after a time without one. */
async function list({ participant, caller, body, query }: Call, form: CompletionsForm): Promise<string> {
  const { ledger, limits } = participant;
  const request = parseCompletions(body, participant, caller, form);
  const reader = new CompletionsReader(participant, request);
  return listResponse(await collectElements(ledger, reader, listOptions(query, limits)), limits);
}

/** Completions of a signed transaction. It is accepted at most once, perhaps after rejections. */
function completionsByHash({ participant, caller, body }: Call): string {
  const { ledger, release } = participant;
  // Visibility depends on the rights of the caller, not on the requested parties: without rights, no completion is
  // visible.
  require(caller, ['authenticated']);
  const hash = hashOf(asText(body['transactionHash']));
  const canReadAs = (readAs: string): boolean => caller.may('read-as-any-party') || caller.may({ readAs });
  const matchingCompletions = ledger.completions.ofHash(hash).map((completion) => ({
    accepted: completion.refusal === undefined,
    shown: visibleCompletion(completion, canReadAs, release),
  }));
  const visibleCompletions = matchingCompletions.filter((completion) => completion.shown !== undefined);
  if (visibleCompletions.length === 0) {
    const cause = 'Completion not found, or not visible.';
    throw failure({ code: 'COMPLETION_NOT_FOUND', category: 11, cause, resources: [['TRANSACTION_HASH', hash]] });
  }
  return JSON.stringify({
    acceptedCompletion: visibleCompletions.find(({ accepted }) => accepted)?.shown ?? null,
    lastRejectedCompletions: visibleCompletions
      .filter(({ accepted }) => !accepted)
      .map((completion) => completion.shown),
  });
}

function stream(form: CompletionsForm): StreamEndpoint['serve'] {
  return async (connection: Connection, text: string, participant: Participant, caller: Caller) => {
    await guardStream(connection, text, participant, async () => {
      const request = parseCompletions(decode(text, participant), participant, caller, form);
      const reader = new CompletionsReader(participant, request);
      await follow(connection, { participant, caller, reader, ...request });
    });
  };
}

const endpointForUser = {
  path: '/v2/commands/completions',
  summary: 'Completions of a user',
  request: 'CompletionStreamRequest',
} as const;
const endpointForAll = {
  path: '/v2/commands/command-completions',
  summary: 'Completions of all users',
  request: 'GetCompletionsRequest',
  since: '3.5',
} as const;
const query = ['limit', 'stream_idle_timeout_ms'];

export const completionEndpoints: readonly Endpoint[] = [
  {
    method: 'POST',
    ...endpointForUser,
    query,
    response: 'CompletionStreamResponse[]',
    run: (call) => list(call, 'of-user'),
  },
  {
    method: 'POST',
    ...endpointForAll,
    query,
    response: 'CompletionStreamResponse[]',
    run: (call) => list(call, 'of-all'),
  },
  {
    method: 'POST',
    path: '/v2/commands/completion-by-hash',
    summary: 'Completions of the transaction with a hash',
    since: '3.6',
    request: 'GetCompletionByHashRequest',
    response: 'GetCompletionByHashResponse',
    run: completionsByHash,
  },
];

export const completionStreams: readonly StreamEndpoint[] = [
  { ...endpointForUser, response: 'CompletionStreamResponse', serve: stream('of-user') },
  { ...endpointForAll, response: 'CompletionStreamResponse', serve: stream('of-all') },
];
