/**
 * The classification of the ledger's failures, as tables and nothing else: what the participant says, to the code this
 * program knows it by (what follows from it is in `errors/ledger-codes.ts`). The tables are asked in
 * the order they stand here; the first that knows the value decides. Codes and categories are those of the
 * participant's own error catalogue; gRPC and HTTP statuses follow each other by a fixed mapping, in which pruned,
 * malformed and too late are all 400, so the status comes last.
 */
import type { LedgerErrorCode } from '../../errors/catalogue.ts';

export type ErrorClasses<Key> = ReadonlyMap<Key, LedgerErrorCode>;

/** By `code`: those whose category alone would say the wrong thing, or too little. */
export const byLedgerCode: ErrorClasses<string> = new Map([
  ['PARTICIPANT_PRUNED_DATA_ACCESSED', 'LEDGER_PRUNED'],
  ['OFFSET_AFTER_LEDGER_END', 'LEDGER_OFFSET_AFTER_END'],
  ['PARTICIPANT_DATA_ACCESSED_AFTER_LEDGER_END', 'LEDGER_OFFSET_AFTER_END'],
  // These two end running streams in lawful operation; the next connection may follow at once.
  ['ACCESS_TOKEN_EXPIRED', 'LEDGER_TOKEN_EXPIRED'],
  ['STALE_STREAM_AUTHORIZATION', 'LEDGER_STALE_AUTHORIZATION'],
  ['PACKAGE_NAMES_NOT_FOUND', 'LEDGER_FILTER_UNKNOWN'],
  ['NO_TEMPLATES_FOR_PACKAGE_NAME_AND_QUALIFIED_NAME', 'LEDGER_FILTER_UNKNOWN'],
  ['NO_INTERFACE_FOR_PACKAGE_NAME_AND_QUALIFIED_NAME', 'LEDGER_FILTER_UNKNOWN'],
  ['TEMPLATES_OR_INTERFACES_NOT_FOUND', 'LEDGER_PACKAGE_UNKNOWN'],
  ['INVALID_CONTINUATION_TOKEN', 'LEDGER_CONTINUATION_TOKEN_INVALID'],
  ['INVALID_ACS_PAGE_TOKEN', 'LEDGER_CONTINUATION_TOKEN_INVALID'],
  ['INVALID_UPDATES_PAGE_TOKEN', 'LEDGER_CONTINUATION_TOKEN_INVALID'],
  // Its category says "retry", but the same request meets the same limit for ever.
  ['JSON_API_MAXIMUM_LIST_ELEMENTS_NUMBER_REACHED', 'LEDGER_REQUEST_INVALID'],
]);

/**
 * By `errorCategory`. Absent on purpose, so that the gRPC code tells: 4 (internal), 13 (never sent over the interface)
 * and -1 (redacted, or not an error of the participant at all).
 */
export const byCategory: ErrorClasses<number> = new Map([
  // Shutting down, not yet up, a passive replica.
  [1, 'LEDGER_UNAVAILABLE'],
  // Overload; for commands also contention (locked contracts, not sequenced in time).
  [2, 'LEDGER_UNAVAILABLE'],
  [3, 'LEDGER_UNAVAILABLE'],
  [5, 'LEDGER_REQUEST_INVALID'],
  [6, 'LEDGER_UNAUTHENTICATED'],
  [7, 'LEDGER_PERMISSION_DENIED'],
  // Offsets, fields, page sizes; of the other services INVALID_DAR, DAML_AUTHORIZATION_ERROR, INVALID_USER_UPDATE_REQUEST.
  [8, 'LEDGER_REQUEST_INVALID'],
  // OFFSET_OUT_OF_RANGE; of commands DAML_FAILURE and what no synchronizer can take.
  [9, 'LEDGER_REQUEST_INVALID'],
  // DUPLICATE_COMMAND, USER_ALREADY_EXISTS.
  [10, 'LEDGER_REQUEST_INVALID'],
  // CONTRACT_NOT_FOUND, USER_NOT_FOUND, PARTY_NOT_FOUND, PACKAGE_NOT_FOUND, and look-ups that find nothing.
  [11, 'LEDGER_REQUEST_INVALID'],
  [12, 'LEDGER_OFFSET_AFTER_END'],
  [14, 'LEDGER_REQUEST_INVALID'],
]);

/** By `grpcCodeValue`: all sixteen that are not success. */
export const byGrpcCode: ErrorClasses<number> = new Map([
  [1, 'LEDGER_UNAVAILABLE'],
  [2, 'LEDGER_INTERNAL'],
  [3, 'LEDGER_REQUEST_INVALID'],
  [4, 'LEDGER_UNAVAILABLE'],
  [5, 'LEDGER_REQUEST_INVALID'],
  [6, 'LEDGER_REQUEST_INVALID'],
  [7, 'LEDGER_PERMISSION_DENIED'],
  [8, 'LEDGER_UNAVAILABLE'],
  [9, 'LEDGER_REQUEST_INVALID'],
  [10, 'LEDGER_UNAVAILABLE'],
  [11, 'LEDGER_OFFSET_AFTER_END'],
  [12, 'LEDGER_REQUEST_INVALID'],
  [13, 'LEDGER_INTERNAL'],
  [14, 'LEDGER_UNAVAILABLE'],
  [15, 'LEDGER_INTERNAL'],
  [16, 'LEDGER_UNAUTHENTICATED'],
]);

/** By HTTP status, for bodies that are not the participant's: its HTTP server, or a proxy before it. */
export const byHttpStatus: ErrorClasses<number> = new Map([
  [400, 'LEDGER_REQUEST_INVALID'],
  [401, 'LEDGER_UNAUTHENTICATED'],
  [403, 'LEDGER_PERMISSION_DENIED'],
  [404, 'LEDGER_NOT_A_LEDGER'],
  [408, 'LEDGER_UNAVAILABLE'],
  [409, 'LEDGER_UNAVAILABLE'],
  [413, 'LEDGER_REQUEST_INVALID'],
  [415, 'LEDGER_REQUEST_INVALID'],
  [429, 'LEDGER_UNAVAILABLE'],
  [431, 'LEDGER_REQUEST_INVALID'],
  [499, 'LEDGER_UNAVAILABLE'],
  [500, 'LEDGER_INTERNAL'],
  [501, 'LEDGER_REQUEST_INVALID'],
  [502, 'LEDGER_UNAVAILABLE'],
  [503, 'LEDGER_UNAVAILABLE'],
  [504, 'LEDGER_UNAVAILABLE'],
]);

/**
 * By WebSocket close code. The participant says everything in frames and closes with 1000; these come from proxies.
 * Codes that are not here, 1001, 1006 and 1011 among them, are LEDGER_STREAM_CLOSED.
 */
export const byCloseCode: ErrorClasses<number> = new Map([
  [1008, 'LEDGER_UNAUTHENTICATED'],
  [1009, 'LEDGER_REQUEST_INVALID'],
  [3000, 'LEDGER_UNAUTHENTICATED'],
  [3003, 'LEDGER_PERMISSION_DENIED'],
]);

/** What an answer or a frame says of its failure; whatever is absent does not take part in the decision. */
export interface Symptoms {
  readonly ledgerCode?: string | undefined;
  readonly category?: number | undefined;
  readonly grpcCode?: number | undefined;
  readonly httpStatus?: number | undefined;
}

function found<Key>(classes: ErrorClasses<Key>, key: Key | undefined): LedgerErrorCode | undefined {
  return key === undefined ? undefined : classes.get(key);
}

/** The code for what was said: by ledger code, then category, then gRPC code, then HTTP status. */
export function classify({ ledgerCode, category, grpcCode, httpStatus }: Symptoms): LedgerErrorCode {
  const known =
    found(byLedgerCode, ledgerCode) ??
    found(byCategory, category) ??
    found(byGrpcCode, grpcCode) ??
    found(byHttpStatus, httpStatus);
  if (known !== undefined) return known;
  return httpStatus === undefined || httpStatus >= 500 ? 'LEDGER_INTERNAL' : 'LEDGER_NOT_A_LEDGER';
}
