/**
 * The requests of the two streams, built from one filter. Seed and follow must request the same things, so both take
 * their event format from here. Pure functions; nothing deprecated (top-level `filter`, `verbose`) is ever sent.
 */
import { createHash } from 'node:crypto';
import { isReleaseSince, inFlightOmittedSince, type ParticipantRelease } from './release.ts';

export interface LedgerFilter {
  /** Empty for all parties that the participant hosts. */
  readonly parties: readonly string[];
  /** `#package-name:Module:Entity`. Empty for all templates. */
  readonly templates: readonly string[];
  /** `#package-name:Module:Entity`. Each contract that implements one is returned with its interface view. */
  readonly interfaces: readonly string[];
  /** Set if only contracts that match the interfaces are requested; `templates` is then ignored. */
  readonly onlyInterfaces?: true;
  readonly createdEventBlobs: boolean;
  readonly shape: 'LEDGER_EFFECTS' | 'ACS_DELTA';
  readonly topology: boolean;
}

/** The configured filter. It has the configured names of interfaces instead of the interfaces that the ledger knows. */
export interface RequestedFilter extends Omit<LedgerFilter, 'interfaces' | 'onlyInterfaces'> {
  /** `#package-name:Module:Entity`, and names of presets. */
  readonly wantedInterfaces: readonly string[];
}

type IdentifierFilter =
  | { readonly WildcardFilter: { readonly value: { readonly includeCreatedEventBlob: boolean } } }
  | {
      readonly TemplateFilter: {
        readonly value: { readonly templateId: string; readonly includeCreatedEventBlob: boolean };
      };
    }
  | {
      readonly InterfaceFilter: {
        readonly value: {
          readonly interfaceId: string;
          readonly includeInterfaceView: boolean;
          readonly includeCreatedEventBlob: boolean;
        };
      };
    };

interface PartyFilters {
  readonly cumulative: readonly { readonly identifierFilter: IdentifierFilter }[];
}

export interface EventFormat {
  readonly filtersByParty: Readonly<Record<string, PartyFilters>>;
  readonly filtersForAnyParty?: PartyFilters;
  readonly verbose: boolean;
}

export interface UpdateFormat {
  readonly includeTransactions: { readonly eventFormat: EventFormat; readonly transactionShape: string };
  readonly includeReassignments: EventFormat;
  readonly includeTopologyEvents?: {
    readonly includeParticipantAuthorizationEvents: { readonly parties: readonly string[] };
  };
}

export interface ActiveContractsRequest {
  readonly activeAtOffset: number;
  readonly eventFormat: EventFormat;
  /** Set for participants since 3.7. */
  readonly includeIncompleteReassignments?: true;
  readonly streamContinuationToken?: string;
}

export interface UpdatesRequest {
  readonly beginExclusive: number;
  /** If absent, the stream has no end. */
  readonly endInclusive?: number;
  readonly updateFormat: UpdateFormat;
}

function partyFilters(filter: LedgerFilter): PartyFilters {
  const includeCreatedEventBlob = filter.createdEventBlobs;
  const templates: IdentifierFilter[] = filter.templates.map((templateId) => ({
    TemplateFilter: { value: { templateId, includeCreatedEventBlob } },
  }));
  const interfaces: IdentifierFilter[] = filter.interfaces.map((interfaceId) => ({
    InterfaceFilter: { value: { interfaceId, includeInterfaceView: true, includeCreatedEventBlob } },
  }));
  // Entries are combined with OR: a wildcard next to interface filters means "everything, with views where they match".
  const identifierFilters: IdentifierFilter[] = [{ WildcardFilter: { value: { includeCreatedEventBlob } } }];
  const base = filter.onlyInterfaces === true ? [] : templates.length > 0 ? templates : identifierFilters;
  return { cumulative: [...base, ...interfaces].map((identifierFilter) => ({ identifierFilter })) };
}

/** Event format for seed and follow. */
export function eventFormat(filter: LedgerFilter): EventFormat {
  const filters = partyFilters(filter);
  if (filter.parties.length === 0) return { filtersByParty: {}, filtersForAnyParty: filters, verbose: false };
  return { filtersByParty: Object.fromEntries(filter.parties.map((party) => [party, filters])), verbose: false };
}

/** Transactions in the configured shape, reassignments, and topology events of the same parties if configured. */
export function updateFormat(filter: LedgerFilter): UpdateFormat {
  const format = eventFormat(filter);
  return {
    includeTransactions: { eventFormat: format, transactionShape: `TRANSACTION_SHAPE_${filter.shape}` },
    includeReassignments: format,
    ...(filter.topology
      ? { includeTopologyEvents: { includeParticipantAuthorizationEvents: { parties: filter.parties } } }
      : {}),
  };
}

/**
 * The request of the seed: all contracts active at `offset`, and those in transit between synchronizers, which
 * participants omit since 3.7 unless they are requested.
 * @param release of the participant; an older one must not receive a field that it does not know
 * @param continuationToken of the last entry received, to continue after an interruption at the same offset with the
 *   same filter
 */
export function activeContractsRequest(
  offset: number,
  filter: LedgerFilter,
  release: ParticipantRelease,
  continuationToken?: string,
): ActiveContractsRequest {
  const request: ActiveContractsRequest = {
    activeAtOffset: offset,
    eventFormat: eventFormat(filter),
    ...(isReleaseSince(release, inFlightOmittedSince) ? { includeIncompleteReassignments: true } : {}),
  };
  return continuationToken === undefined ? request : { ...request, streamContinuationToken: continuationToken };
}

/** The request of the follow stream: every update after `beginExclusive`, up to `endInclusive` or without an end. */
export function updatesRequest(beginExclusive: number, filter: LedgerFilter, endInclusive?: number): UpdatesRequest {
  const request = { beginExclusive, updateFormat: updateFormat(filter) };
  return endInclusive === undefined ? request : { ...request, endInclusive };
}

function sortedUnique(values: readonly string[]): readonly string[] {
  return [...new Set(values)].sort();
}

/**
 * Identifies a filter in the database. It is the same for filters that request the same things in another order.
 * @returns canonical JSON and its SHA-256 in lower-case hex
 */
export function filterFingerprint(filter: RequestedFilter): { readonly json: string; readonly hash: string } {
  const json = JSON.stringify({
    createdEventBlobs: filter.createdEventBlobs,
    interfaces: sortedUnique(filter.wantedInterfaces),
    parties: sortedUnique(filter.parties),
    shape: filter.shape,
    templates: sortedUnique(filter.templates),
    topology: filter.topology,
  });
  return { json, hash: createHash('sha256').update(json).digest('hex') };
}
