/**
 * Outcomes of submitted commands, as lists over HTTP. The calls need the right CanActAs or CanReadAs for each party in
 * the request.
 */
import { IndexerError } from '../../errors/indexer-error.ts';
import { isObject } from '../frames/field.ts';
import { ledgerError } from '../errors/make-ledger-error.ts';
import type { Transport } from '../transport/transport.ts';
import {
  responseField,
  responseList,
  responseObject,
  responseOffset,
  type ListOptions,
  listQuery,
  type Maybe,
  sentOffset,
} from './answer.ts';
import type { Status, TraceContext } from './update-types.ts';

export interface CompletionStreamRequest {
  readonly parties: readonly string[];
  /** Default: the user of the token. */
  readonly userId?: string;
  /** Default: the ledger end. */
  readonly beginExclusive?: number;
}

export interface GetCompletionsRequest {
  readonly parties?: readonly string[];
  readonly beginExclusive?: number;
}

export interface Completion {
  readonly offset: number;
  readonly commandId?: string;
  /** Code 0 is success. */
  readonly status?: Maybe<Status>;
  /** Empty when the command failed. */
  readonly updateId?: Maybe<string>;
  readonly userId?: string;
  readonly actAs?: readonly string[];
  readonly submissionId?: string;
  readonly deduplicationPeriod?: unknown;
  readonly traceContext?: Maybe<TraceContext>;
  readonly synchronizerTime?: Maybe<SynchronizerTime>;
  readonly paidTrafficCost?: Maybe<number>;
  /** Since 3.6. */
  readonly transactionHash?: Maybe<string>;
}

export interface SynchronizerTime {
  readonly synchronizerId?: string;
  readonly recordTime?: string;
}

/** Has exactly one of the keys. Kinds of later releases appear under their own name. */
export interface CompletionResponse {
  readonly Completion?: { readonly value: Completion };
  readonly OffsetCheckpoint?: {
    readonly value: { readonly offset: number; readonly synchronizerTimes?: Maybe<readonly SynchronizerTime[]> };
  };
}

/**
 * Completions of a signed transaction, newest last. The transaction is accepted at most once, possibly after
 * rejections.
 */
export interface CompletionsByHash {
  readonly acceptedCompletion: Completion | undefined;
  readonly lastRejectedCompletions: readonly Completion[];
}

export interface CompletionCalls {
  /** `POST /v2/commands/completions`; all releases, deprecated since 3.5.7 in favor of `commandCompletions`. */
  list(request: CompletionStreamRequest, options?: ListOptions): AsyncIterable<CompletionResponse>;
  /** `POST /v2/commands/command-completions`; 3.5.7 and later, before that HTTP 404 (LEDGER_NOT_A_LEDGER). */
  commandCompletions(request: GetCompletionsRequest, options?: ListOptions): AsyncIterable<CompletionResponse>;
  /**
   * `POST /v2/commands/completion-by-hash`; 3.6 and later, before that HTTP 404 (LEDGER_NOT_A_LEDGER). Undefined if the
   * participant has no completion with this hash, or does not return it (COMPLETION_NOT_FOUND).
   * @param transactionHash Base64 (completions contain it as hex)
   */
  byHash(transactionHash: string): Promise<CompletionsByHash | undefined>;
}

/**
 * The content of one element or frame: `{"completionResponse":{"<Kind>":{"value":…}}}`.
 * @throws IndexerError LEDGER_UNDECODABLE when it is not JSON or has no offset
 */
export function completionIn(text: string, path: string): CompletionResponse {
  let element: unknown;
  try {
    element = JSON.parse(text);
  } catch {
    throw ledgerError('LEDGER_UNDECODABLE', `an element of ${path} is not JSON`);
  }
  const response = responseField(element, 'completionResponse', path);
  for (const kind of ['Completion', 'OffsetCheckpoint']) {
    const body = response[kind];
    if (isObject(body)) responseOffset(body['value'], 'offset', `${kind} of ${path}`);
  }
  return response;
}

async function* completions(
  transport: Transport,
  path: string,
  request: GetCompletionsRequest,
  options: ListOptions = {},
): AsyncGenerator<CompletionResponse, void, undefined> {
  sentOffset(request.beginExclusive, 'beginExclusive');
  const elements = transport.requestElements('POST', path, request, listQuery(options));
  for await (const text of elements) yield completionIn(text, path);
}

async function completionsByHash(
  transport: Transport,
  transactionHash: string,
): Promise<CompletionsByHash | undefined> {
  const path = '/v2/commands/completion-by-hash';
  try {
    const response = responseObject(await transport.request('POST', path, { transactionHash }), path);
    const acceptedCompletion = response['acceptedCompletion'];
    const rejectedCompletions = responseList(response, 'lastRejectedCompletions', path);
    const allCompletions = [...(isObject(acceptedCompletion) ? [acceptedCompletion] : []), ...rejectedCompletions];
    for (const completion of allCompletions) responseOffset(completion, 'offset', path);
    return {
      acceptedCompletion: isObject(acceptedCompletion) ? (acceptedCompletion as unknown as Completion) : undefined,
      lastRejectedCompletions: rejectedCompletions as readonly Completion[],
    };
  } catch (thrown) {
    if (thrown instanceof IndexerError && thrown.facts['ledgerCode'] === 'COMPLETION_NOT_FOUND') return undefined;
    throw thrown;
  }
}

export function completionCalls(transport: Transport): CompletionCalls {
  return {
    list: (request, options) => completions(transport, '/v2/commands/completions', request, options),
    commandCompletions: (request, options) =>
      completions(transport, '/v2/commands/command-completions', request, options),
    byHash: (transactionHash) => completionsByHash(transport, transactionHash),
  };
}
