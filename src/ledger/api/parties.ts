/**
 * Parties, hosted on this participant or elsewhere. Right unless stated otherwise: ParticipantAdmin, or administrator
 * of the identity provider in the request.
 */
import { pathSegment } from '../transport/endpoint-url.ts';
import type { SigningPublicKey, Signature } from '../access/signing.ts';
import type { Transport } from '../transport/transport.ts';
import { responseEntries, responseField, responseText, responseTexts, nextPageToken, type Maybe } from './answer.ts';

export interface ObjectMeta {
  readonly resourceVersion?: Maybe<string>;
  readonly annotations?: Maybe<Readonly<Record<string, string>>>;
}

export interface PartyDetails {
  readonly party: string;
  readonly isLocal?: boolean;
  readonly localMetadata?: Maybe<ObjectMeta>;
  readonly identityProviderId?: Maybe<string>;
}

export interface ListPartiesQuery {
  readonly identityProviderId?: string;
  /** Only parties whose id begins with this text. */
  readonly filterParty?: string;
  /** At most `features.partyManagement.maxPartiesPageSize` of the version (10000). */
  readonly pageSize?: number;
  readonly pageToken?: string;
}

export interface PartiesPage {
  readonly partyDetails: readonly PartyDetails[];
  /** Undefined on the last page. */
  readonly nextPageToken: string | undefined;
}

export interface AllocatePartyRequest {
  /** The name before `::`; by default, the node chooses it. */
  readonly partyIdHint?: string;
  readonly localMetadata?: ObjectMeta;
  readonly identityProviderId?: string;
  /** Required when the node is connected to more than one synchronizer. */
  readonly synchronizerId?: string;
  /** Gets CanActAs for the new party. */
  readonly userId?: string;
}

export interface GenerateTopologyRequest {
  /** A synchronizer id. */
  readonly synchronizer: string;
  readonly partyHint: string;
  readonly publicKey: SigningPublicKey;
  readonly localParticipantObservationOnly?: boolean;
  readonly otherConfirmingParticipantUids?: readonly string[];
  /** Default: all confirming participants. */
  readonly confirmationThreshold?: number;
  readonly observingParticipantUids?: readonly string[];
}

export interface GeneratedTopology {
  readonly partyId: string;
  readonly publicKeyFingerprint: string;
  /** Base64. */
  readonly topologyTransactions: readonly string[];
  /** Base64; one signature of this hash replaces the signatures of all transactions. */
  readonly multiHash: string;
}

export interface AllocateExternalPartyRequest {
  readonly synchronizer: string;
  readonly onboardingTransactions: readonly {
    /** Base64. */
    readonly transaction: string;
    readonly signatures?: readonly Signature[];
  }[];
  readonly multiHashSignatures?: readonly Signature[];
  readonly identityProviderId?: string;
  /** The node's default is true; only effective for a party that is hosted on one participant. */
  readonly waitForAllocation?: boolean;
  /** Gets CanActAs for the new party; 3.5 and later. */
  readonly userId?: string;
}

export interface PartyCalls {
  /** `GET /v2/parties/participant-id`; ParticipantAdmin (participants may require less), all releases. */
  participantId(): Promise<string>;
  /** `GET /v2/parties`, one page; all releases. */
  list(query?: ListPartiesQuery): Promise<PartiesPage>;
  /** `GET /v2/parties/{party}`; undefined when the participant does not know the party. All releases. */
  get(party: string, identityProviderId?: string): Promise<PartyDetails | undefined>;
  /**
   * `POST /v2/parties`; all releases.
   * @throws IndexerError LEDGER_REQUEST_INVALID for a hint that is taken or not allowed
   */
  allocate(request: AllocatePartyRequest): Promise<PartyDetails>;
  /**
   * `POST /v2/parties/external/generate-topology`: the topology that a party with a key of its own has to sign. Any
   * authenticated user. The participant stores nothing.
   */
  generateExternalTopology(request: GenerateTopologyRequest): Promise<GeneratedTopology>;
  /** `POST /v2/parties/external/allocate`: hosts such a party. Right: as for the other calls, or being `userId`. */
  allocateExternal(request: AllocateExternalPartyRequest): Promise<string>;
}

async function list(transport: Transport, query: ListPartiesQuery): Promise<PartiesPage> {
  const { identityProviderId, filterParty, pageSize, pageToken } = query;
  const response = await transport.request('GET', '/v2/parties', undefined, {
    'identity-provider-id': identityProviderId,
    'filter-party': filterParty,
    pageSize,
    pageToken,
  });
  const partyDetails = responseEntries(response, 'partyDetails', 'party', '/v2/parties');
  return { partyDetails, nextPageToken: nextPageToken(response) };
}

async function generateTopology(transport: Transport, request: GenerateTopologyRequest): Promise<GeneratedTopology> {
  const path = '/v2/parties/external/generate-topology';
  const response = await transport.request('POST', path, request);
  return {
    partyId: responseText(response, 'partyId', path),
    publicKeyFingerprint: responseText(response, 'publicKeyFingerprint', path),
    topologyTransactions: responseTexts(response, 'topologyTransactions', path),
    multiHash: responseText(response, 'multiHash', path),
  };
}

export function partyCalls(transport: Transport): PartyCalls {
  return {
    async participantId() {
      const path = '/v2/parties/participant-id';
      return responseText(await transport.request('GET', path), 'participantId', path);
    },
    list: (query = {}) => list(transport, query),
    async get(party, identityProviderId) {
      const path = `/v2/parties/${pathSegment(party)}`;
      const query = { 'identity-provider-id': identityProviderId };
      const response = await transport.request('GET', path, undefined, query);
      const details = responseEntries(response, 'partyDetails', 'party', path);
      return details.find((candidate) => candidate.party === party);
    },
    async allocate(request) {
      const response = await transport.request('POST', '/v2/parties', request);
      const details = responseField(response, 'partyDetails', '/v2/parties');
      return { ...details, party: responseText(details, 'party', '/v2/parties') };
    },
    generateExternalTopology: (request) => generateTopology(transport, request),
    async allocateExternal(request) {
      const path = '/v2/parties/external/allocate';
      return responseText(await transport.request('POST', path, request), 'partyId', path);
    },
  };
}
