/**
 * Reads in pages instead of streams. A page token (opaque, bound to the participant and the request) contains the start
 * of the next page. Pages have no OffsetCheckpoints, because their bounds name the range that they cover.
 */
import { require } from '../identity/caller.ts';
import type { Call, Endpoint } from '../api/endpoint.ts';
import { failure, invalidArgument, missingField, prunedAccess } from '../wire/failure.ts';
import type { LedgerFailure } from '../wire/failure.ts';
import { parseEventFormat, parseUpdateFormat } from '../contracts/format.ts';
import type { UpdateFormat } from '../contracts/format.ts';
import { asObject, asText } from '../wire/json.ts';
import type { Json, JsonObject } from '../wire/json.ts';
import { bindingOf, openToken, sealToken } from '../wire/page-token.ts';
import type { Participant } from '../api/participant.ts';
import { eventFormatNeeds, updateFormatNeeds } from '../identity/read-rights.ts';
import { Renderer } from '../api/render.ts';
import {
  checkOffsets,
  checkSnapshotOffset,
  entryBinding,
  numberOf,
  requireNotNegative,
  includesIncomplete,
} from '../api/requests.ts';

const acsSize = { standard: 2000, most: 10_000 };
const updatesSize = { standard: 100, most: 2000 };

function pageSize(value: Json | undefined, { standard, most: maxSize }: typeof acsSize): number {
  const size = numberOf(value) ?? 0;
  if (size < 0 || size > maxSize)
    throw invalidArgument(`max_page_size must be between 1 and ${maxSize}, found ${size}`);
  return size === 0 ? standard : size;
}

function invalidToken(kind: 'ACS' | 'UPDATES'): LedgerFailure {
  const cause = 'The page token is malformed, or belongs to another request or another participant';
  return failure({ code: `INVALID_${kind}_PAGE_TOKEN`, category: 8, cause });
}

/** Offset and position of the requested page; undefined for a first page. */
function resumedAt(body: JsonObject, binding: string, kind: 'ACS' | 'UPDATES'): readonly [number, number] | undefined {
  const token = asText(body['pageToken']);
  if (token === '') return undefined;
  const resumedPosition = openToken(token, binding);
  if (resumedPosition === undefined) throw invalidToken(kind);
  return resumedPosition;
}

function formatOf(body: JsonObject, key: 'eventFormat' | 'updateFormat'): JsonObject {
  const format = asObject(body[key]);
  if (format === undefined) throw missingField(key === 'eventFormat' ? 'event_format' : 'update_format');
  return format;
}

function activeContractsPage({ participant, caller, body }: Call): string {
  const { ledger, release } = participant;
  const eventFormat = formatOf(body, 'eventFormat');
  require(caller, eventFormatNeeds(eventFormat));
  const requestedOffset = numberOf(body['activeAtOffset']);
  if (requestedOffset !== undefined) requireNotNegative(requestedOffset);
  const format = parseEventFormat(eventFormat, ledger.model, release);
  const size = pageSize(body['maxPageSize'], acsSize);
  const incomplete = includesIncomplete(body, release);
  const binding = bindingOf(
    'acs',
    ledger.participantId,
    participant.version,
    eventFormat,
    requestedOffset ?? null,
    incomplete,
  );
  const [activeAtOffset, skip] = resumedAt(body, binding, 'ACS') ?? [requestedOffset ?? ledger.ledgerEnd(), 0];
  checkSnapshotOffset(activeAtOffset, format, participant);
  const renderer = new Renderer(participant);
  const tokenBinding = entryBinding(participant, eventFormat, incomplete);
  const entries: string[] = [];
  let position = 0;
  let nextPageToken: string | null = null;
  for (const activeEntry of ledger.activeAt(activeAtOffset)) {
    position += 1;
    if (position <= skip || (!incomplete && activeEntry.as !== 'JsActiveContract')) continue;
    if (entries.length === size) {
      nextPageToken = sealToken(binding, activeAtOffset, position - 1);
      break;
    }
    const entry = renderer.entry(activeEntry, format, sealToken(tokenBinding, activeAtOffset, position));
    if (entry !== undefined) entries.push(entry);
  }
  const pageFields = JSON.stringify({ activeAtOffset, nextPageToken }).slice(1);
  return `{"activeContracts":[${entries.join()}],${pageFields}`;
}

interface Page {
  readonly updates: readonly string[];
  /** The range of the ledger that the page covers, with exclusive start and inclusive end. */
  readonly lowest: number;
  readonly highest: number;
}

/** Reads from the near end of the range until the page is full or the range ends. */
function readPage(
  participant: Participant,
  range: { readonly begin: number; readonly end: number; readonly descending: boolean },
  size: number,
  format: UpdateFormat,
): Page {
  const renderer = new Renderer(participant);
  const updates: string[] = [];
  let { begin: lowestOffset, end: highestOffset } = range;
  while (updates.length < size) {
    const storedUpdates = participant.ledger.range(lowestOffset, highestOffset, size, range.descending);
    for (const storedUpdate of storedUpdates) {
      if (range.descending) highestOffset = storedUpdate.offset - 1;
      else lowestOffset = storedUpdate.offset;
      const frame = renderer.update(storedUpdate, format);
      if (frame !== undefined && updates.push(frame) === size) break;
    }
    if (storedUpdates.length < size && updates.length < size)
      return { updates, lowest: range.begin, highest: range.end };
  }
  return range.descending
    ? { updates, lowest: Math.max(highestOffset, range.begin), highest: range.end }
    : { updates, lowest: range.begin, highest: lowestOffset };
}

/** Start of the range of a page request. 0 is the current beginning of the history; other values must not be pruned. */
function beginOffsetOf(beginOffset: number, end: number, { ledger }: Participant): number {
  const prunedOffset = ledger.prunedTo();
  if (beginOffset === 0) return prunedOffset;
  if (beginOffset < prunedOffset)
    throw prunedAccess(`Transactions request from ${beginOffset + 1} to ${end}`, prunedOffset);
  return beginOffset;
}

function updatesPage({ participant, caller, body }: Call): string {
  const { ledger, release } = participant;
  const updateFormat = formatOf(body, 'updateFormat');
  require(caller, updateFormatNeeds(updateFormat));
  const requestedRange = {
    begin: numberOf(body['beginOffsetExclusive']) ?? 0,
    end: numberOf(body['endOffsetInclusive']),
  };
  const descending = body['descendingOrder'] === true;
  const last = requestedRange.end ?? ledger.ledgerEnd();
  checkOffsets(requestedRange.begin, requestedRange.end ?? undefined, false, ledger.ledgerEnd());
  const format = parseUpdateFormat(updateFormat, ledger.model, release);
  if (last < requestedRange.begin) {
    const cause = `End offset ${last} is before begin offset ${requestedRange.begin}.`;
    throw failure({ code: 'OFFSET_OUT_OF_RANGE', category: 9, cause });
  }
  const size = pageSize(body['maxPageSize'], updatesSize);
  const binding = bindingOf(
    'updates',
    ledger.participantId,
    participant.version,
    updateFormat,
    requestedRange.begin,
    requestedRange.end ?? null,
    descending,
  );
  const resumedPosition = resumedAt(body, binding, 'UPDATES')?.[0];
  const end = descending ? (resumedPosition ?? last) : last;
  const beginOffset = beginOffsetOf(
    descending ? requestedRange.begin : (resumedPosition ?? requestedRange.begin),
    end,
    participant,
  );
  const range = { begin: beginOffset, end: Math.max(beginOffset, end), descending };
  const { updates, lowest: lowestOffset, highest: highestOffset } = readPage(participant, range, size, format);
  const isComplete = descending
    ? lowestOffset <= beginOffset
    : requestedRange.end !== undefined && highestOffset >= range.end;
  const nextPageToken = isComplete ? null : sealToken(binding, descending ? lowestOffset : highestOffset, 0);
  const pageFields = {
    lowestPageOffsetExclusive: lowestOffset,
    highestPageOffsetInclusive: highestOffset,
    nextPageToken,
  };
  return `{"updates":[${updates.join()}],${JSON.stringify(pageFields).slice(1)}`;
}

const acsPage = {
  path: '/v2/state/active-contracts-page',
  summary: 'A page of the contracts active at an offset',
  takes: 'json',
  since: '3.5',
  request: 'GetActiveContractsPageRequest',
  response: 'JsGetActiveContractsPageResponse',
  run: activeContractsPage,
} as const;

export const pageEndpoints: readonly Endpoint[] = [
  { ...acsPage, method: 'POST' },
  { ...acsPage, method: 'GET', last: '3.6', deprecatedIn: '3.5' },
  {
    method: 'POST',
    path: '/v2/updates/get-updates-page',
    summary: 'A page of updates after an offset',
    since: '3.5',
    request: 'GetUpdatesPageRequest',
    response: 'JsGetUpdatesPageResponse',
    run: updatesPage,
  },
];
