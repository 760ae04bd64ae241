/**
 * Reads the stream requests and checks them in the participant's order. For each mistake, the refusal is the one that
 * the participant returns.
 */
import { require } from '../identity/caller.ts';
import type { Caller } from '../identity/caller.ts';
import { consumeFault } from '../faults/faults.ts';
import type { Faults } from '../faults/faults.ts';
import type { Ledger } from '../ledger/ledger.ts';
import {
  UndecodableRequest,
  missingField,
  afterLedgerEnd,
  deprecatedDisabled,
  failure,
  inFlightAccess,
  invalidArgument,
  negativeOffset,
  nonPositiveOffset,
  prunedAccess,
} from '../wire/failure.ts';
import { formatText, parseEventFormat, parseUpdateFormat } from '../contracts/format.ts';
import type { EventFormat, UpdateFormat } from '../contracts/format.ts';
import { asList, asObject, asText } from '../wire/json.ts';
import type { Json, JsonObject } from '../wire/json.ts';
import { bindingOf, openToken } from '../wire/page-token.ts';
import { isDisabled, isFrom } from '../wire/release.ts';
import type { Release } from '../wire/release.ts';
import type { Participant } from './participant.ts';
import { eventFormatNeeds, updateFormatNeeds } from '../identity/read-rights.ts';

/** `trees`: the deprecated form, with one tree of events per transaction. */
export type UpdatesForm = 'updates' | 'trees';

export interface UpdatesRequest {
  readonly form: UpdatesForm;
  readonly beginExclusive: number;
  /** Undefined to follow without end. */
  readonly endInclusive: number | undefined;
  readonly descending: boolean;
  readonly format: UpdateFormat;
}

export interface ActiveContractsRequest {
  readonly activeAtOffset: number;
  readonly format: EventFormat;
  /** Number of entries of the snapshot, visible or not, that precede the continuation token of the request. */
  readonly skip: number;
  /** Values that the tokens of the response are bound to. */
  readonly binding: string;
  /** Whether the response includes reassignments in flight. */
  readonly incomplete: boolean;
}

/**
 * The exact value of an int64 in a request: a number, or its digits as a text. Undefined for other values, which cannot
 * be decoded.
 */
export function int64Of(value: Json | undefined): number | bigint | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'number' && Number.isSafeInteger(value)) return value;
  if (typeof value !== 'string' || !/^-?\d{1,19}$/.test(value)) throw new UndecodableRequest('body');
  const exact = BigInt(value);
  if (BigInt.asIntN(64, exact) !== exact) throw new UndecodableRequest('body');
  return Number.isSafeInteger(Number(exact)) ? Number(exact) : exact;
}

/** An int64 of a request that a number holds exactly. */
export function numberOf(value: Json | undefined): number | undefined {
  const int64 = int64Of(value);
  if (typeof int64 === 'bigint') throw new UndecodableRequest('body');
  return int64;
}

/** The filters of a legacy request, with a wildcard added to the named ones, as the tree calls require. */
function withWildcards(filter: JsonObject): JsonObject {
  const wildcard = { identifierFilter: { WildcardFilter: { value: { includeCreatedEventBlob: false } } } };
  const widen = (filters: Json | undefined): JsonObject => ({
    cumulative: [...asList(asObject(filters)?.['cumulative']), wildcard],
  });
  const partyFilters = Object.entries(asObject(filter['filtersByParty']) ?? {});
  const anyPartyFilter = asObject(filter['filtersForAnyParty']);
  return {
    filtersByParty: Object.fromEntries(partyFilters.map(([party, filters]) => [party, widen(filters)])),
    ...(anyPartyFilter === undefined ? {} : { filtersForAnyParty: widen(anyPartyFilter) }),
  };
}

/** Converts the legacy filter to an update format: transactions and reassignments, no topology. */
function legacyUpdateFormat(filter: JsonObject, form: UpdatesForm): JsonObject {
  const trees = form === 'trees';
  const transactionShape = trees ? 'TRANSACTION_SHAPE_LEDGER_EFFECTS' : 'TRANSACTION_SHAPE_ACS_DELTA';
  const eventFormat = trees ? withWildcards(filter) : filter;
  return { includeTransactions: { eventFormat, transactionShape }, includeReassignments: eventFormat };
}

/** Describes the new and the legacy form of a stream request. */
interface FormatParameter {
  readonly key: 'updateFormat' | 'eventFormat';
  /** Path for the refusal in releases that have disabled the legacy form. */
  readonly path: string;
  readonly legacy: (filter: JsonObject) => JsonObject;
}

/** The format in the new or in the legacy form. The request must have exactly one, as far as the release has both. */
function singleFormat(body: JsonObject, { key, path, legacy }: FormatParameter, release: Release): JsonObject {
  const name = key === 'updateFormat' ? 'update_format' : 'event_format';
  const format = asObject(body[key]);
  const filter = asObject(body['filter']);
  if (isFrom(release, '3.7')) {
    // This release no longer has the legacy keys, and ignores unknown keys.
    if (format === undefined) throw missingField(name);
    return format;
  }
  if (isDisabled(release) && (filter !== undefined || body['verbose'] === true)) {
    throw deprecatedDisabled(`The fields filter/verbose of the ${path} requests`, '3.4');
  }
  const hint = `Please use either backwards compatible arguments (filter and verbose) or ${name}`;
  for (const [field, set] of [
    ['filter', filter !== undefined],
    ['verbose', body['verbose'] === true],
  ] as const) {
    if (format !== undefined && set) throw invalidArgument(`Both ${name} and ${field} are set. ${hint}, but not both.`);
  }
  if (format !== undefined) return format;
  if (filter === undefined) throw invalidArgument(`Either filter/verbose or ${name} is required. ${hint}.`);
  return legacy(filter);
}

/** The offsets of an updates request. Checks them against the ledger end. */
export function checkOffsets(
  beginOffset: number | bigint,
  end: number | bigint | undefined,
  descending: boolean,
  ledgerEnd: number,
): void {
  if (beginOffset < 0) throw negativeOffset(beginOffset, 'begin_exclusive');
  if (end !== undefined && end <= 0) throw nonPositiveOffset(end, 'end_inclusive');
  if (descending && end === undefined) {
    const cause = 'descending_order needs end_inclusive';
    throw failure({ code: 'DESCENDING_ORDER_MISSING_END', category: 8, cause });
  }
  if (beginOffset > ledgerEnd) throw afterLedgerEnd('Begin offset', beginOffset, ledgerEnd);
  if (end !== undefined && end > ledgerEnd) throw afterLedgerEnd('End offset', end, ledgerEnd);
}

/**
 * Parses a GetUpdatesRequest. Checks it in the participant's order: form, rights, offsets, names, range. Throws the
 * participant's refusal.
 */
export function parseUpdatesRequest(
  body: JsonObject,
  { ledger, release }: Participant,
  caller: Caller,
  form: UpdatesForm = 'updates',
): UpdatesRequest {
  const legacy = (filter: JsonObject): JsonObject => legacyUpdateFormat(filter, form);
  const updateFormat = singleFormat(body, { key: 'updateFormat', path: '/v2/updates', legacy }, release);
  require(caller, updateFormatNeeds(updateFormat));
  const [beginOffset, end] = [int64Of(body['beginExclusive']) ?? 0, int64Of(body['endInclusive'])];
  // Release 3.4 does not know the key, and ignores unknown keys.
  const descending = release !== '3.4' && body['descendingOrder'] === true;
  checkOffsets(beginOffset, end, descending, ledger.ledgerEnd());
  const [beginExclusive, endInclusive] = [Number(beginOffset), end === undefined ? undefined : Number(end)];
  const format = parseUpdateFormat(updateFormat, ledger.model, release);
  if (endInclusive !== undefined && endInclusive < beginExclusive) {
    const cause = `End offset ${endInclusive} is before begin offset ${beginExclusive}.`;
    throw failure({ code: 'OFFSET_OUT_OF_RANGE', category: 9, cause });
  }
  return { form, beginExclusive, endInclusive, descending, format };
}

function skipOf(token: string, activeAtOffset: number, binding: string): number {
  if (token === '') return 0;
  const [offset, position] = openToken(token, binding) ?? [];
  if (offset === activeAtOffset && position !== undefined) return position;
  const cause = 'The stream continuation token does not belong to this request';
  throw failure({ code: 'INVALID_CONTINUATION_TOKEN', category: 8, cause });
}

/** An `active_at_offset` that is neither after the ledger end nor pruned. */
export function checkSnapshotOffset(
  activeAtOffset: number | bigint,
  format: EventFormat,
  { ledger, faults }: Participant,
): void {
  const [ledgerEnd, prunedOffset] = [ledger.ledgerEnd(), ledger.prunedTo()];
  const context = { filters: formatText(format) };
  if (activeAtOffset > ledgerEnd) throw afterLedgerEnd('active_at_offset offset', activeAtOffset, ledgerEnd, context);
  if (activeAtOffset >= prunedOffset) {
    refuseInFlight(ledger, faults, Number(activeAtOffset));
    return;
  }
  throw prunedAccess(`Active contracts request at offset ${activeAtOffset}`, prunedOffset, context);
}

/**
 * Refuses offsets other than the ledger end if the fault script requires it and reassignments are in flight at them.
 */
function refuseInFlight(ledger: Ledger, faults: Faults, activeAtOffset: number): void {
  if (faults.refuseInFlight === undefined || activeAtOffset === ledger.ledgerEnd()) return;
  const inFlight = [...ledger.activeAt(activeAtOffset)].some(({ as }) => as !== 'JsActiveContract');
  if (!inFlight) return;
  consumeFault(faults, 'refuseInFlight');
  throw inFlightAccess(activeAtOffset);
}

/** Refuses a negative `active_at_offset`. */
export function requireNotNegative(activeAtOffset: number | bigint): void {
  if (activeAtOffset < 0) throw negativeOffset(activeAtOffset, 'active_at_offset');
}

/**
 * Whether the response to a request for active contracts includes reassignments in flight: since 3.7 only if the
 * request sets the field.
 */
export function includesIncomplete(body: JsonObject, release: Release): boolean {
  return !isFrom(release, '3.7') || body['includeIncompleteReassignments'] === true;
}

/** Values that the continuation token of an entry is bound to: the participant, its version and the request. */
export function entryBinding({ ledger, version }: Participant, eventFormat: JsonObject, incomplete: boolean): string {
  return bindingOf('entry', ledger.participantId, version, eventFormat, incomplete);
}

/** Parses and checks a GetActiveContractsRequest. Throws the participant's refusal. */
export function parseActiveContractsRequest(
  body: JsonObject,
  participant: Participant,
  caller: Caller,
): ActiveContractsRequest {
  const { release } = participant;
  const path = '/v2/state/active-contracts';
  const eventFormat = singleFormat(body, { key: 'eventFormat', path, legacy: (filter) => filter }, release);
  require(caller, eventFormatNeeds(eventFormat));
  const requestedOffset = int64Of(body['activeAtOffset']) ?? 0;
  requireNotNegative(requestedOffset);
  const format = parseEventFormat(eventFormat, participant.ledger.model, release);
  checkSnapshotOffset(requestedOffset, format, participant);
  const activeAtOffset = Number(requestedOffset);
  const incomplete = includesIncomplete(body, release);
  const binding = entryBinding(participant, eventFormat, incomplete);
  const token = release === '3.4' ? '' : asText(body['streamContinuationToken']);
  return { activeAtOffset, format, skip: skipOf(token, activeAtOffset, binding), binding, incomplete };
}

/** The hash of a transaction in hex; requests contain it in Base64. */
export function hashOf(base64Hash: string): string {
  if (base64Hash === '') throw missingField('transaction_hash');
  const bytes = Buffer.from(base64Hash, 'base64');
  if (bytes.toString('base64') !== base64Hash) throw new UndecodableRequest('body', 'The string is not a valid Base64');
  return bytes.toString('hex');
}
