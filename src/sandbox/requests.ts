/**
 * The stream requests: read, checked in the participant's order, ready to run. Every refusal is the one the participant
 * gives for that mistake.
 */
import { require } from './caller.ts';
import type { Caller } from './caller.ts';
import { afterLedgerEnd, failure, invalidArgument, prunedAccess } from './failure.ts';
import { parseEventFormat, parseUpdateFormat } from './format.ts';
import type { EventFormat, UpdateFormat } from './format.ts';
import { asObject, asText } from './json.ts';
import type { Json, JsonObject } from './json.ts';
import type { Ledger } from './ledger.ts';
import { eventFormatNeeds, updateFormatNeeds } from './read-rights.ts';

export interface UpdatesRequest {
  readonly beginExclusive: number;
  /** Undefined: follow for ever. */
  readonly endInclusive: number | undefined;
  readonly descending: boolean;
  readonly format: UpdateFormat;
}

export interface ActiveContractsRequest {
  readonly activeAtOffset: number;
  readonly format: EventFormat;
  /** Entries an earlier, interrupted answer delivered already. */
  readonly skip: number;
}

function numberOf(value: Json | undefined): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

/** The legacy filter as an update format: ACS delta transactions and reassignments. */
function legacyUpdateFormat(filter: JsonObject): JsonObject {
  const transactionShape = 'TRANSACTION_SHAPE_ACS_DELTA';
  return { includeTransactions: { eventFormat: filter, transactionShape }, includeReassignments: filter };
}

/** Exactly one of the new and the legacy form, as the new form. */
function oneForm(body: JsonObject, key: 'updateFormat' | 'eventFormat'): JsonObject {
  const name = key === 'updateFormat' ? 'update_format' : 'event_format';
  const format = asObject(body[key]);
  const filter = asObject(body['filter']);
  const hint = `Please use either backwards compatible arguments (filter and verbose) or ${name}`;
  for (const [legacy, set] of [
    ['filter', filter !== undefined],
    ['verbose', body['verbose'] === true],
  ] as const) {
    if (format !== undefined && set)
      throw invalidArgument(`Both ${name} and ${legacy} are set. ${hint}, but not both.`);
  }
  if (format !== undefined) return format;
  if (filter === undefined) throw invalidArgument(`Either filter/verbose or ${name} is required. ${hint}.`);
  return key === 'updateFormat' ? legacyUpdateFormat(filter) : filter;
}

function checkOffsets(begin: number, end: number | undefined, descending: boolean, ledgerEnd: number): void {
  if (begin < 0) {
    const cause = `Offset ${begin} in begin_exclusive is a negative integer`;
    throw failure({ code: 'NEGATIVE_OFFSET', category: 8, cause, context: { field_name: 'begin_exclusive' } });
  }
  if (end !== undefined && end <= 0) {
    const cause = `Offset ${end} in end_inclusive is not a positive integer`;
    throw failure({ code: 'NON_POSITIVE_OFFSET', category: 8, cause, context: { field_name: 'end_inclusive' } });
  }
  if (descending && end === undefined) {
    const cause = 'descending_order needs end_inclusive';
    throw failure({ code: 'DESCENDING_ORDER_MISSING_END', category: 8, cause });
  }
  if (begin > ledgerEnd) throw afterLedgerEnd('Begin offset', begin, ledgerEnd);
  if (end !== undefined && end > ledgerEnd) throw afterLedgerEnd('End offset', end, ledgerEnd);
}

/** A GetUpdatesRequest, checked in the participant's order: form, rights, offsets, names, range. Throws the participant's refusal. */
export function parseUpdatesRequest(body: JsonObject, ledger: Ledger, caller: Caller): UpdatesRequest {
  const updateFormat = oneForm(body, 'updateFormat');
  require(caller, updateFormatNeeds(updateFormat));
  const beginExclusive = numberOf(body['beginExclusive']) ?? 0;
  const endInclusive = numberOf(body['endInclusive']);
  const descending = body['descendingOrder'] === true;
  checkOffsets(beginExclusive, endInclusive, descending, ledger.ledgerEnd());
  const format = parseUpdateFormat(updateFormat, ledger.model);
  if (endInclusive !== undefined && endInclusive < beginExclusive) {
    const cause = `End offset ${endInclusive} is before begin offset ${beginExclusive}.`;
    throw failure({ code: 'OFFSET_OUT_OF_RANGE', category: 9, cause });
  }
  return { beginExclusive, endInclusive, descending, format };
}

/** The opaque token of the `count`-th entry of an answer. */
export function continuationToken(activeAtOffset: number, count: number): string {
  return Buffer.from(`${activeAtOffset}:${count}`).toString('base64');
}

function skipOf(token: string, activeAtOffset: number): number {
  if (token === '') return 0;
  const [offset, count] = Buffer.from(token, 'base64').toString().split(':').map(Number);
  if (offset === activeAtOffset && count !== undefined && Number.isSafeInteger(count)) return count;
  const cause = 'The stream continuation token does not belong to this request';
  throw failure({ code: 'INVALID_CONTINUATION_TOKEN', category: 8, cause });
}

/** A GetActiveContractsRequest, checked. Throws the participant's refusal. */
export function parseActiveContractsRequest(body: JsonObject, ledger: Ledger, caller: Caller): ActiveContractsRequest {
  const eventFormat = oneForm(body, 'eventFormat');
  require(caller, eventFormatNeeds(eventFormat));
  const activeAtOffset = numberOf(body['activeAtOffset']) ?? 0;
  if (activeAtOffset < 0) {
    const cause = `Offset ${activeAtOffset} in active_at_offset is a negative integer`;
    throw failure({ code: 'NEGATIVE_OFFSET', category: 8, cause, context: { field_name: 'active_at_offset' } });
  }
  const format = parseEventFormat(eventFormat, ledger.model);
  const ledgerEnd = ledger.ledgerEnd();
  if (activeAtOffset > ledgerEnd) throw afterLedgerEnd('active_at_offset offset', activeAtOffset, ledgerEnd);
  if (activeAtOffset < ledger.prunedTo()) {
    throw prunedAccess(`Active contracts request at offset ${activeAtOffset}`, ledger.prunedTo());
  }
  return { activeAtOffset, format, skip: skipOf(asText(body['streamContinuationToken']), activeAtOffset) };
}
