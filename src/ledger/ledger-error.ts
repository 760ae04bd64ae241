/**
 * Classifies everything that goes wrong between us and the participant: error bodies and frames, HTTP statuses, plain
 * text answers, close codes and network errors. Status and close code alone cannot tell "pruned" from "malformed", so
 * the code in the body decides first, then its category, then the gRPC code, then the HTTP status.
 */
import type { IndexerError } from '../errors.ts';
import { ledgerError, type LedgerErrorCode } from './ledger-error-codes.ts';

type Facts = Record<string, string | number | boolean>;
type JsonObject = Readonly<Record<string, unknown>>;

const byLedgerCode = new Map<string, LedgerErrorCode>([
  ['PARTICIPANT_PRUNED_DATA_ACCESSED', 'LEDGER_PRUNED'],
  ['OFFSET_AFTER_LEDGER_END', 'LEDGER_OFFSET_AFTER_END'],
  ['PARTICIPANT_DATA_ACCESSED_AFTER_LEDGER_END', 'LEDGER_OFFSET_AFTER_END'],
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

/** Categories 4 (internal) and -1 (redacted or foreign) are absent on purpose: only the gRPC code tells them apart. */
const byCategory = new Map<number, LedgerErrorCode>([
  [1, 'LEDGER_UNAVAILABLE'],
  [2, 'LEDGER_UNAVAILABLE'],
  [3, 'LEDGER_UNAVAILABLE'],
  [5, 'LEDGER_REQUEST_INVALID'],
  [6, 'LEDGER_UNAUTHENTICATED'],
  [7, 'LEDGER_PERMISSION_DENIED'],
  [8, 'LEDGER_REQUEST_INVALID'],
  [9, 'LEDGER_REQUEST_INVALID'],
  [10, 'LEDGER_REQUEST_INVALID'],
  [11, 'LEDGER_REQUEST_INVALID'],
  [12, 'LEDGER_OFFSET_AFTER_END'],
  [14, 'LEDGER_REQUEST_INVALID'],
]);

const byGrpcCode = new Map<number, LedgerErrorCode>([
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

const byHttpStatus = new Map<number, LedgerErrorCode>([
  [400, 'LEDGER_REQUEST_INVALID'],
  [401, 'LEDGER_UNAUTHENTICATED'],
  [403, 'LEDGER_PERMISSION_DENIED'],
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

const byCloseCode = new Map<number, LedgerErrorCode>([
  [1008, 'LEDGER_UNAUTHENTICATED'],
  [1009, 'LEDGER_REQUEST_INVALID'],
  [3000, 'LEDGER_UNAUTHENTICATED'],
  [3003, 'LEDGER_PERMISSION_DENIED'],
]);

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Text of a peer, fit for one log line: short, printable, and with anything that looks like a token taken out. */
function printable(text: string): string {
  return text
    .replace(/\bBearer\s+\S+/giu, 'Bearer [removed]')
    .replace(/\beyJ[\w-]*(?:\.[\w-]*)*/gu, '[token removed]')
    .replace(/[\p{Cc}\s]+/gu, ' ')
    .trim()
    .slice(0, 300);
}

/** The text as an offset when it is one, so that facts carry numbers; undefined for anything else. */
function offsetIn(value: unknown): number | undefined {
  const text = typeof value === 'number' ? String(value) : value;
  if (typeof text !== 'string' || !/^\d{1,16}$/u.test(text)) return undefined;
  const offset = Number(text);
  return Number.isSafeInteger(offset) ? offset : undefined;
}

/** True for the ledger's error object (`code` and `cause`), which arrives in place of a data frame. */
export function isErrorFrame(parsed: unknown): boolean {
  if (!isObject(parsed) || 'update' in parsed || 'contractEntry' in parsed) return false;
  return typeof parsed['code'] === 'string' && typeof parsed['cause'] === 'string';
}

function wireFacts(body: JsonObject, httpStatus: number | undefined): Facts {
  const facts: Facts = {};
  if (typeof body['code'] === 'string') facts['ledgerCode'] = printable(body['code']).slice(0, 100);
  if (typeof body['errorCategory'] === 'number') facts['category'] = body['errorCategory'];
  if (typeof body['grpcCodeValue'] === 'number') facts['grpcCode'] = body['grpcCodeValue'];
  if (typeof body['traceId'] === 'string') facts['traceId'] = printable(body['traceId']).slice(0, 100);
  if (httpStatus !== undefined) facts['httpStatus'] = httpStatus;
  const context = isObject(body['context']) ? body['context'] : {};
  const earliestOffset = offsetIn(context['earliest_offset']);
  if (earliestOffset !== undefined) facts['earliestOffset'] = earliestOffset;
  // The request errors name the ledger end only in their text; there is no context key for it.
  const cause = typeof body['cause'] === 'string' ? body['cause'] : '';
  const latestOffset = offsetIn(context['latest_offset'] ?? /after ledger end \((\d+)\)/u.exec(cause)?.[1]);
  if (latestOffset !== undefined) facts['latestOffset'] = latestOffset;
  return facts;
}

function codeOfStatus(httpStatus: number): LedgerErrorCode {
  return byHttpStatus.get(httpStatus) ?? (httpStatus >= 500 ? 'LEDGER_INTERNAL' : 'LEDGER_NOT_A_LEDGER');
}

function codeOfBody(body: JsonObject, httpStatus: number | undefined): LedgerErrorCode {
  const { code, errorCategory, grpcCodeValue } = body;
  const known =
    (typeof code === 'string' ? byLedgerCode.get(code) : undefined) ??
    (typeof errorCategory === 'number' ? byCategory.get(errorCategory) : undefined) ??
    (typeof grpcCodeValue === 'number' ? byGrpcCode.get(grpcCodeValue) : undefined);
  if (known !== undefined) return known;
  return httpStatus === undefined ? 'LEDGER_INTERNAL' : codeOfStatus(httpStatus);
}

/**
 * The error in an answer or a frame.
 * @param body the parsed JSON, or the text when it is not JSON
 * @param httpStatus absent for frames of a stream
 */
export function errorFromBody(body: unknown, httpStatus?: number): IndexerError {
  if (isObject(body) && typeof body['code'] === 'string') {
    const cause = typeof body['cause'] === 'string' ? printable(body['cause']) : 'no cause given';
    const message = `the ledger answered ${printable(body['code'])}: ${cause}`;
    return ledgerError(codeOfBody(body, httpStatus), message, { facts: wireFacts(body, httpStatus) });
  }
  if (httpStatus === undefined) {
    return ledgerError('LEDGER_UNDECODABLE', 'expected an error object of the ledger, found something else', {
      retry: 'retry',
    });
  }
  // Pages of proxies are noise in a log line; the plain text of the participant's own decoder is the explanation.
  const text = typeof body === 'string' && !/^\s*</u.test(body) ? printable(body) : '';
  const message = `the ledger URL answered HTTP ${httpStatus}${text === '' ? '' : `: ${text}`}`;
  return ledgerError(codeOfStatus(httpStatus), message, { facts: { httpStatus } });
}

/** A stream that ended without an error frame. A seed may not take this for its end: only code 1000 is a clean end. */
export function errorFromClose(code: number, reason: string): IndexerError {
  const text = printable(reason);
  const message = `the ledger closed the stream with code ${code}${text === '' ? '' : ` (${text})`}`;
  return ledgerError(byCloseCode.get(code) ?? 'LEDGER_STREAM_CLOSED', message, { facts: { closeCode: code } });
}

/** The first text found under `key` in an error, its causes or the members of an AggregateError. */
function errnoOf(thrown: unknown, depth = 0): string | undefined {
  if (!isObject(thrown) || depth > 4) return undefined;
  if (typeof thrown['code'] === 'string') return thrown['code'];
  const members: readonly unknown[] = Array.isArray(thrown['errors']) ? thrown['errors'] : [];
  for (const inner of [thrown['cause'], ...members]) {
    const found = errnoOf(inner, depth + 1);
    if (found !== undefined) return found;
  }
  return undefined;
}

const tlsErrno = /^(?:CERT_|CRL_|UNABLE_TO_|ERR_TLS_|ERR_SSL_|ERR_OSSL_|DEPTH_ZERO_|SELF_SIGNED_|HOSTNAME_|EPROTO)/u;
const notTheApi = /subprotocol|Sec-WebSocket|Upgrade header|Unexpected server response/iu;

function codeOfErrno(errno: string, message: string): LedgerErrorCode {
  if (tlsErrno.test(errno)) return 'LEDGER_TLS';
  if (errno === 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH') return 'LEDGER_FRAME_TOO_LARGE';
  if (errno.startsWith('WS_ERR_')) return 'LEDGER_UNDECODABLE';
  if (errno.startsWith('HPE_') || errno === 'ERR_INVALID_URL' || notTheApi.test(message)) return 'LEDGER_NOT_A_LEDGER';
  return 'LEDGER_UNREACHABLE';
}

function originOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : 'the ledger URL';
}

/**
 * A failure below HTTP: DNS, TCP, TLS, or bytes that break the WebSocket protocol.
 * @param url of the request; only its host and port are shown, because a URL may hold credentials
 */
export function errorFromNetwork(cause: unknown, url: string): IndexerError {
  const errno = errnoOf(cause) ?? 'none';
  const text = cause instanceof Error ? printable(cause.message) : '';
  const code = codeOfErrno(errno, text);
  const host = originOf(url);
  const what = text === '' ? errno : text;
  const message =
    code === 'LEDGER_UNREACHABLE' ? `cannot reach ${host}: ${what}` : `talking to ${host} failed: ${what}`;
  return ledgerError(code, message, {
    cause,
    facts: { errno, host },
    // A broken frame is usually a broken proxy or connection: the next connection may be whole.
    ...(code === 'LEDGER_UNDECODABLE' ? { retry: 'retry' } : {}),
  });
}
