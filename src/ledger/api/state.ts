/**
 * The state of the ledger as this participant sees it. Right for offsets: any authenticated user. Right for contracts:
 * CanReadAs or CanActAs for each party in the request, CanReadAsAnyParty for filters for any party.
 */
import type { Transport } from '../transport/transport.ts';
import {
  responseList,
  responseObject,
  responseOffset,
  type ListOptions,
  listQuery,
  type Maybe,
  nextPageToken,
  sentOffset,
} from './answer.ts';
import type { SynchronizerTime } from './completions.ts';
import type { CreatedEvent } from './update-types.ts';
import type { EventFormat, TransactionFilter } from './format.ts';

export interface ConnectedSynchronizer {
  readonly synchronizerAlias: string;
  readonly synchronizerId: string;
  /** `PARTICIPANT_PERMISSION_…` of the requested party; UNSPECIFIED if the request names no party. */
  readonly permission: string;
}

export interface ConnectedSynchronizersQuery {
  /** Requires ParticipantAdmin, administrator of the identity provider, or a right on the party. */
  readonly party?: string;
  readonly participantId?: string;
  readonly identityProviderId?: string;
}

/** `eventFormat`, or the legacy `filter` and `verbose`; a request with both is refused. */
export interface GetActiveContractsRequest {
  readonly activeAtOffset: number;
  readonly eventFormat?: EventFormat;
  /**
   * Includes contracts in transit between synchronizers, which 3.7 and later omit otherwise. Earlier releases ignore
   * this field.
   */
  readonly includeIncompleteReassignments?: boolean;
  /**
   * Token of the last entry received, to continue after an interruption. 3.5 and later; valid only for the same version
   * of the participant.
   */
  readonly streamContinuationToken?: string;
  /** @deprecated use `eventFormat` */
  readonly filter?: TransactionFilter;
  /** @deprecated use `eventFormat` */
  readonly verbose?: boolean;
}

export interface ActiveContractsPageRequest {
  readonly eventFormat: EventFormat;
  /** Default: the ledger end. */
  readonly activeAtOffset?: number;
  /** As in `GetActiveContractsRequest`. */
  readonly includeIncompleteReassignments?: boolean;
  /** Default 2000, at most 10000. */
  readonly maxPageSize?: number;
  readonly pageToken?: string;
}

/** Has exactly one key of `contractEntry`. */
export interface ActiveContract {
  readonly workflowId?: string;
  readonly contractEntry?: Maybe<{
    readonly JsActiveContract?: {
      readonly createdEvent: CreatedEvent;
      readonly synchronizerId?: string;
      readonly reassignmentCounter?: number;
    };
    readonly JsIncompleteUnassigned?: { readonly createdEvent: CreatedEvent; readonly unassignedEvent?: unknown };
    readonly JsIncompleteAssigned?: { readonly assignedEvent?: unknown };
    readonly JsEmpty?: object;
  }>;
  readonly streamContinuationToken?: Maybe<string>;
}

export interface ActiveContractsPage {
  readonly activeContracts: readonly ActiveContract[];
  readonly activeAtOffset: number;
  /** Undefined on the last page. */
  readonly nextPageToken: string | undefined;
}

export interface StateCalls {
  /** `GET /v2/state/ledger-end`: offset of the last update; 0 on an empty ledger. All releases. */
  ledgerEnd(): Promise<number>;
  /** The same with the record time of each synchronizer, which 3.6 adds; the list is empty for older releases. */
  ledgerEndTimes(): Promise<{ readonly offset: number; readonly synchronizerTimes: readonly SynchronizerTime[] }>;
  /**
   * `GET /v2/state/latest-pruned-offsets`: offset up to which the participant is pruned, inclusive; 0 if it was never
   * pruned. (The second offset of the response, for divulged contracts, is the same number in all known releases.)
   */
  latestPrunedOffsets(): Promise<number>;
  /** `GET /v2/state/connected-synchronizers`. All releases. */
  connectedSynchronizers(query?: ConnectedSynchronizersQuery): Promise<readonly ConnectedSynchronizer[]>;
  /**
   * `POST /v2/state/active-contracts`: the JSON text of each entry, for `decodeActiveContract`. The order is
   * unspecified. All releases.
   * @throws IndexerError LEDGER_OFFSET_AFTER_END, LEDGER_PRUNED, LEDGER_FILTER_UNKNOWN, LEDGER_REQUEST_INVALID
   */
  activeContracts(request: GetActiveContractsRequest, options?: ListOptions): AsyncIterable<string>;
  /**
   * `POST /v2/state/active-contracts-page`; 3.5.10 and later. Request further pages with `pageToken` until there is
   * none.
   * @throws IndexerError LEDGER_CONTINUATION_TOKEN_INVALID and those of `activeContracts`
   */
  activeContractsPage(request: ActiveContractsPageRequest): Promise<ActiveContractsPage>;
  /** The same by GET with a body, for 3.5 before 3.5.10. @deprecated use `activeContractsPage` */
  activeContractsPageByGet(request: ActiveContractsPageRequest): Promise<ActiveContractsPage>;
}

function synchronizersIn(response: unknown, path: string): readonly ConnectedSynchronizer[] {
  const text = (entry: unknown, name: string): string => {
    const value = typeof entry === 'object' && entry !== null ? (entry as Record<string, unknown>)[name] : undefined;
    return typeof value === 'string' ? value : '';
  };
  return responseList(response, 'connectedSynchronizers', path).map((entry) => ({
    synchronizerAlias: text(entry, 'synchronizerAlias'),
    synchronizerId: text(entry, 'synchronizerId'),
    permission: text(entry, 'permission'),
  }));
}

async function contractsPage(
  transport: Transport,
  method: 'GET' | 'POST',
  request: ActiveContractsPageRequest,
): Promise<ActiveContractsPage> {
  sentOffset(request.activeAtOffset, 'activeAtOffset');
  const path = '/v2/state/active-contracts-page';
  const response = responseObject(await transport.request(method, path, request), path);
  return {
    activeContracts: responseList(response, 'activeContracts', path) as readonly ActiveContract[],
    activeAtOffset: responseOffset(response, 'activeAtOffset', path),
    nextPageToken: nextPageToken(response),
  };
}

export function stateCalls(transport: Transport): StateCalls {
  const ledgerEndTimes: StateCalls['ledgerEndTimes'] = async () => {
    const path = '/v2/state/ledger-end';
    const response = await transport.request('GET', path);
    const offset = responseOffset(response, 'offset', path);
    return {
      offset,
      synchronizerTimes: responseList(response, 'synchronizerTimes', path) as readonly SynchronizerTime[],
    };
  };
  return {
    ledgerEnd: async () => (await ledgerEndTimes()).offset,
    ledgerEndTimes,
    async latestPrunedOffsets() {
      const path = '/v2/state/latest-pruned-offsets';
      return responseOffset(await transport.request('GET', path), 'participantPrunedUpToInclusive', path);
    },
    async connectedSynchronizers(query) {
      const path = '/v2/state/connected-synchronizers';
      return synchronizersIn(await transport.request('GET', path, undefined, { ...query }), path);
    },
    activeContracts(request, options = {}) {
      sentOffset(request.activeAtOffset, 'activeAtOffset');
      return transport.requestElements('POST', '/v2/state/active-contracts', request, listQuery(options));
    },
    activeContractsPage: (request) => contractsPage(transport, 'POST', request),
    activeContractsPageByGet: (request) => contractsPage(transport, 'GET', request),
  };
}
