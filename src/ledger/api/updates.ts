/**
 * Updates, looked up or listed. Right for all: CanReadAs or CanActAs for each party in the format; CanReadAsAnyParty
 * for formats for any party, and for topology events of all parties. For streams without an end, use the WebSocket.
 */
import { IndexerError } from '../../errors/indexer-error.ts';
import type { Transport } from '../transport/transport.ts';
import {
  responseList,
  responseObject,
  responseOffset,
  type ListOptions,
  listQuery,
  nextPageToken,
  sentOffset,
} from './answer.ts';
import { updateResponseOf, type UpdateResponse } from './update-types.ts';
import type { TransactionFilter, UpdateFormat } from './format.ts';

/** `updateFormat`, or the legacy `filter` and `verbose`; a request with both is refused. */
export interface GetUpdatesRequest {
  readonly beginExclusive: number;
  /** If absent, the list ends when nothing arrives for the idle time. */
  readonly endInclusive?: number;
  readonly updateFormat?: UpdateFormat;
  /** Requires `endInclusive`. 3.5 and later. */
  readonly descendingOrder?: boolean;
  /** @deprecated use `updateFormat` */
  readonly filter?: TransactionFilter;
  /** @deprecated use `updateFormat` */
  readonly verbose?: boolean;
}

export interface GetUpdatesPageRequest {
  readonly updateFormat: UpdateFormat;
  /** If 0 or absent, the list begins at the pruned offset, without an error. */
  readonly beginOffsetExclusive?: number;
  readonly endOffsetInclusive?: number;
  /** Default 100, at most 2000. */
  readonly maxPageSize?: number;
  readonly descendingOrder?: boolean;
  /** Token of the previous response; valid only for the same participant and the same request. */
  readonly pageToken?: string;
}

export interface UpdatesPage {
  readonly updates: readonly UpdateResponse[];
  readonly lowestPageOffsetExclusive: number;
  /** All visible updates up to this offset were returned: equivalent to an OffsetCheckpoint. */
  readonly highestPageOffsetInclusive: number;
  /** Always present for a list in ascending order without an end. */
  readonly nextPageToken: string | undefined;
}

export interface UpdateCalls {
  /**
   * `POST /v2/updates`: the JSON text of each update, for `decodeUpdate`. An open-ended list also contains checkpoints.
   * All releases.
   * @throws IndexerError LEDGER_PRUNED, LEDGER_OFFSET_AFTER_END, LEDGER_FILTER_UNKNOWN, LEDGER_REQUEST_INVALID
   */
  list(request: GetUpdatesRequest, options?: ListOptions): AsyncIterable<string>;
  /** `POST /v2/updates/flats`. @deprecated removed in 3.6; use `list` */
  flats(request: GetUpdatesRequest, options?: ListOptions): AsyncIterable<string>;
  /**
   * `POST /v2/updates/trees`: elements `{"update":{"TransactionTree":{"value":…}}}`.
   * @deprecated removed in 3.6; use `list` with shape LEDGER_EFFECTS
   */
  trees(request: GetUpdatesRequest, options?: ListOptions): AsyncIterable<string>;
  /**
   * `POST /v2/updates/get-updates-page`; 3.5 and later. Never contains checkpoints.
   * @throws IndexerError LEDGER_CONTINUATION_TOKEN_INVALID and those of `list`, except LEDGER_PRUNED
   */
  page(request: GetUpdatesPageRequest): Promise<UpdatesPage>;
  /**
   * `POST /v2/updates/update-by-offset`; all releases. Undefined if there is no update at the offset, or the format
   * excludes it (UPDATE_NOT_FOUND).
   */
  byOffset(offset: number, updateFormat: UpdateFormat): Promise<UpdateResponse | undefined>;
  /** `POST /v2/updates/update-by-id`; all releases. Undefined as in `byOffset`. */
  byId(updateId: string, updateFormat: UpdateFormat): Promise<UpdateResponse | undefined>;
  /**
   * `POST /v2/updates/update-by-hash`; 3.6 and later, before that HTTP 404 (LEDGER_NOT_A_LEDGER). Undefined as in
   * `byOffset`.
   * @param transactionHash Base64 (transactions contain it as hex)
   */
  byHash(transactionHash: string, updateFormat: UpdateFormat): Promise<UpdateResponse | undefined>;
}

async function findUpdate(transport: Transport, path: string, request: object): Promise<UpdateResponse | undefined> {
  try {
    return updateResponseOf(await transport.request('POST', path, request), path);
  } catch (thrown) {
    if (thrown instanceof IndexerError && thrown.facts['ledgerCode'] === 'UPDATE_NOT_FOUND') return undefined;
    throw thrown;
  }
}

async function updatesPage(transport: Transport, request: GetUpdatesPageRequest): Promise<UpdatesPage> {
  sentOffset(request.beginOffsetExclusive, 'beginOffsetExclusive');
  sentOffset(request.endOffsetInclusive, 'endOffsetInclusive');
  const path = '/v2/updates/get-updates-page';
  const response = responseObject(await transport.request('POST', path, request), path);
  return {
    updates: responseList(response, 'updates', path).map((update) => updateResponseOf(update, path)),
    lowestPageOffsetExclusive: responseOffset(response, 'lowestPageOffsetExclusive', path),
    highestPageOffsetInclusive: responseOffset(response, 'highestPageOffsetInclusive', path),
    nextPageToken: nextPageToken(response),
  };
}

export function updateCalls(transport: Transport): UpdateCalls {
  const list = (path: string, request: GetUpdatesRequest, options: ListOptions = {}): AsyncIterable<string> => {
    sentOffset(request.beginExclusive, 'beginExclusive');
    sentOffset(request.endInclusive, 'endInclusive');
    return transport.requestElements('POST', path, request, listQuery(options));
  };
  return {
    list: (request, options) => list('/v2/updates', request, options),
    flats: (request, options) => list('/v2/updates/flats', request, options),
    trees: (request, options) => list('/v2/updates/trees', request, options),
    page: (request) => updatesPage(transport, request),
    async byOffset(offset, updateFormat) {
      sentOffset(offset, 'offset');
      return await findUpdate(transport, '/v2/updates/update-by-offset', { offset, updateFormat });
    },
    byId: (updateId, updateFormat) => findUpdate(transport, '/v2/updates/update-by-id', { updateId, updateFormat }),
    byHash: (transactionHash, updateFormat) =>
      findUpdate(transport, '/v2/updates/update-by-hash', { transactionHash, updateFormat }),
  };
}
