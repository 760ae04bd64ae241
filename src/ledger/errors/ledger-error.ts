/**
 * Turns all failures between the indexer and the participant into an IndexerError: error bodies and frames, HTTP
 * statuses, plain text responses, error pages of proxies, close codes and network errors. The tables at the end assign
 * the codes.
 */
import type { IndexerError } from '../../errors/indexer-error.ts';
import { isTlsErrno } from '../../errors/tls-errno.ts';
import { isObject } from '../frames/field.ts';
import { decodeLedgerError, type ErrorResource, isUnknownEndpoint, type LedgerErrorBody } from './ledger-error-body.ts';
import type { LedgerErrorCode } from '../../errors/catalogue.ts';
import { escapeFormat, filterHidden } from '../../errors/visible-text.ts';
import { ledgerError } from './make-ledger-error.ts';

type ErrorFacts = Record<string, string | number | boolean>;

/**
 * Makes text of a peer fit for one log line: short, printable, and with anything that looks like a token removed before
 * it is escaped.
 */
function toPrintable(text: string, length = 300): string {
  return escapeFormat(filterHidden(text, withoutTokens))
    .replace(/[\p{Cc}\s]+/gu, ' ')
    .trim()
    .slice(0, length);
}

function withoutTokens(text: string): string {
  return text.replace(/Bearer\s+\S+/giu, 'Bearer [removed]').replace(/eyJ[\w-]*(?:\.[\w-]*)*/gu, '[token removed]');
}

/** The text as an offset, so that facts contain numbers; undefined if it is not an offset. */
function parseOffset(text: string | undefined): number | undefined {
  if (text === undefined || !/^\d{1,16}$/u.test(text)) return undefined;
  const offset = Number(text);
  return Number.isSafeInteger(offset) ? offset : undefined;
}

/** Resources whose id is a name or a hash. Ids of other resources, contract keys above all, may be contract data. */
const plainResourceType =
  /^(?:CID|CONTRACT_ID|PACKAGE\w*|DALF\w*|TEMPLATE\w*|INTERFACE\w*|TRANSACTION_ID|UPDATE_ID|USER\w*)$/u;
const maxListedResources = 3;
const resourceLength = 80;

function resourcesText(resources: readonly ErrorResource[]): string | undefined {
  if (resources.length === 0) return undefined;
  const entries = resources.slice(0, maxListedResources).map(({ type, id }) => {
    const name = toPrintable(type, resourceLength);
    return plainResourceType.test(type) ? `${name} ${toPrintable(id, resourceLength)}` : name;
  });
  const omittedCount = resources.length - entries.length;
  return [...entries, ...(omittedCount > 0 ? [`${omittedCount} more`] : [])].join(', ');
}

function shorten(text: string | undefined): string | undefined {
  return text === undefined ? undefined : toPrintable(text, 100);
}

/**
 * Facts of an error that may be logged. Of the context, they contain only offsets, because other values may quote
 * contract data.
 */
function wireFacts(body: LedgerErrorBody, httpStatus: number | undefined): ErrorFacts {
  const { context, cause = '' } = body;
  const bodyFacts = {
    ledgerCode: shorten(body.code),
    category: body.errorCategory,
    grpcCode: body.grpcCodeValue,
    traceId: shorten(body.traceId),
    correlationId: shorten(body.correlationId),
    httpStatus,
    definiteAnswer: body.definiteAnswer,
    retryInfo: shorten(body.retryInfo),
    resources: resourcesText(body.resources),
    earliestOffset: parseOffset(context['earliest_offset']),
    // Errors of requests contain the ledger end only in their text, not in the context.
    latestOffset: parseOffset(context['latest_offset'] ?? /after ledger end \((\d+)\)/u.exec(cause)?.[1]),
  };
  const facts: ErrorFacts = {};
  for (const [name, value] of Object.entries(bodyFacts)) if (value !== undefined) facts[name] = value;
  return facts;
}

/**
 * Remedy for a valid token whose user does not exist. This is the only refusal that all requests get and that names its
 * reason.
 */
function userRemedy({ context }: LedgerErrorBody): { remedy?: string } {
  if (context['ledger_api_error'] !== 'invalid token') return {};
  return {
    remedy: 'the token is valid, its user is not: create the user, or activate it, in the intended identity provider',
  };
}

function errorFromLedger(body: LedgerErrorBody, httpStatus: number | undefined): IndexerError {
  const { code: ledgerCode, errorCategory: category, grpcCodeValue: grpcCode } = body;
  const cause = body.cause === undefined ? 'no cause given' : toPrintable(body.cause);
  const trace = body.traceId === undefined ? '' : ` (trace id ${toPrintable(body.traceId, 100)})`;
  const message = `the ledger returned ${toPrintable(ledgerCode ?? 'an error without a code')}: ${cause}${trace}`;
  return ledgerError(codeOfSymptoms({ ledgerCode, category, grpcCode, httpStatus }), message, {
    facts: wireFacts(body, httpStatus),
    ...userRemedy(body),
  });
}

/** The error of a response that is not the participant's error object. */
function errorFromStatus(body: unknown, httpStatus: number): IndexerError {
  const code = codeOfSymptoms({ httpStatus });
  const facts = { httpStatus };
  if (isUnknownEndpoint(body)) {
    return ledgerError(code, 'the participant has no such endpoint (HTTP 404)', {
      facts,
      remedy:
        'check host, port and path prefix of the ledger URL, and that the release of the participant has this call',
    });
  }
  const page = typeof body === 'string' && /^\s*</u.test(body);
  // The page of a proxy is noise in a log line, whereas the plain text of the participant's own decoder explains the
  // error.
  const text = page ? ' with a web page: from a server in front of the participant' : '';
  const detail = typeof body === 'string' && !page && body.trim() !== '' ? `: ${toPrintable(body)}` : text;
  return ledgerError(code, `the ledger URL returned HTTP ${httpStatus}${detail}`, { facts });
}

/**
 * The error in a response or a frame.
 * @param body the parsed JSON, or the text if it is not JSON
 * @param httpStatus absent for frames of a stream
 */
export function errorFromBody(body: unknown, httpStatus?: number): IndexerError {
  const decodedError = decodeLedgerError(body);
  if (decodedError !== undefined) return errorFromLedger(decodedError, httpStatus);
  if (httpStatus !== undefined) return errorFromStatus(body, httpStatus);
  return ledgerError('LEDGER_UNDECODABLE', 'expected an error object of the ledger, found other content', {
    retry: 'retry',
  });
}

/** The error of a stream that ended without an error frame. Only code 1000 is a clean end. */
export function errorFromClose(code: number, reason: string): IndexerError {
  const text = toPrintable(reason);
  const message = `the ledger closed the stream with code ${code}${text === '' ? '' : ` (${text})`}`;
  return ledgerError(byCloseCode.get(code) ?? 'LEDGER_STREAM_CLOSED', message, { facts: { closeCode: code } });
}

/** The first system error code (text under `code`) in an error, its causes or the members of an AggregateError. */
function errnoOf(thrown: unknown, depth = 0): string | undefined {
  if (!isObject(thrown) || depth > 4) return undefined;
  if (typeof thrown['code'] === 'string') return thrown['code'];
  const members: readonly unknown[] = Array.isArray(thrown['errors']) ? thrown['errors'] : [];
  for (const innerError of [thrown['cause'], ...members]) {
    const innerErrno = errnoOf(innerError, depth + 1);
    if (innerErrno !== undefined) return innerErrno;
  }
  return undefined;
}

/** A participant always selects one of the offered subprotocols. If a response selects none, a proxy has removed it. */
const subprotocolRemedy =
  'configure the gateway in front of the participant to pass the header Sec-WebSocket-Protocol in requests and responses';
const nonApiMessage = /subprotocol|Sec-WebSocket|Upgrade header|Unexpected server response/iu;

function codeOfErrno(errno: string, message: string): LedgerErrorCode {
  if (isTlsErrno(errno)) return 'LEDGER_TLS';
  if (errno === 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH') return 'LEDGER_FRAME_TOO_LARGE';
  if (errno.startsWith('WS_ERR_')) return 'LEDGER_UNDECODABLE';
  if (errno.startsWith('HPE_') || errno === 'ERR_INVALID_URL' || nonApiMessage.test(message))
    return 'LEDGER_NOT_A_LEDGER';
  return 'LEDGER_UNREACHABLE';
}

function originOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : 'the ledger URL';
}

/**
 * A failure below HTTP: DNS, TCP, TLS, or bytes that break the WebSocket protocol.
 * @param url of the request; the message includes only its host and port, because a URL may contain credentials
 */
export function errorFromNetwork(cause: unknown, url: string): IndexerError {
  const errno = errnoOf(cause) ?? 'none';
  const text = cause instanceof Error ? toPrintable(cause.message) : '';
  const code = codeOfErrno(errno, text);
  const host = originOf(url);
  const description = text === '' ? errno : text;
  const message =
    code === 'LEDGER_UNREACHABLE'
      ? `cannot reach ${host}: ${description}`
      : `talking to ${host} failed: ${description}`;
  return ledgerError(code, message, {
    cause,
    facts: { errno, host },
    ...(/subprotocol/iu.test(text) ? { remedy: subprotocolRemedy } : {}),
    // A broken frame usually comes from a broken proxy or connection, and the next connection may be intact.
    ...(code === 'LEDGER_UNDECODABLE' ? { retry: 'retry' } : {}),
  });
}

// Maps the participant's failures to the codes of this program (`errors/ledger-codes.ts` defines their consequences).
// The tables are consulted in their order here; the first that contains the value decides. Codes and categories are
// those of the participant's own error catalog. gRPC and HTTP statuses map to each other in a fixed way, in which
// pruned, malformed and too late are all 400. So the status is consulted last.

type ErrorClasses<Key> = ReadonlyMap<Key, LedgerErrorCode>;

/** By `code`: codes whose category alone would be wrong or too general. */
export const byLedgerCode: ErrorClasses<string> = new Map([
  ['PARTICIPANT_PRUNED_DATA_ACCESSED', 'LEDGER_PRUNED'],
  ['OFFSET_AFTER_LEDGER_END', 'LEDGER_OFFSET_AFTER_END'],
  ['PARTICIPANT_DATA_ACCESSED_AFTER_LEDGER_END', 'LEDGER_OFFSET_AFTER_END'],
  // These two codes end running streams in normal operation; the next connection may follow at once.
  ['ACCESS_TOKEN_EXPIRED', 'LEDGER_TOKEN_EXPIRED'],
  ['STALE_STREAM_AUTHORIZATION', 'LEDGER_STALE_AUTHORIZATION'],
  ['PACKAGE_NAMES_NOT_FOUND', 'LEDGER_FILTER_UNKNOWN'],
  ['NO_TEMPLATES_FOR_PACKAGE_NAME_AND_QUALIFIED_NAME', 'LEDGER_FILTER_UNKNOWN'],
  ['NO_INTERFACE_FOR_PACKAGE_NAME_AND_QUALIFIED_NAME', 'LEDGER_FILTER_UNKNOWN'],
  ['TEMPLATES_OR_INTERFACES_NOT_FOUND', 'LEDGER_PACKAGE_UNKNOWN'],
  // On a socket this code has no category, and without this entry it would count as a failure of the participant.
  ['DEPRECATED_API_DISABLED', 'LEDGER_API_DISABLED'],
  ['INVALID_CONTINUATION_TOKEN', 'LEDGER_CONTINUATION_TOKEN_INVALID'],
  ['INVALID_ACS_PAGE_TOKEN', 'LEDGER_CONTINUATION_TOKEN_INVALID'],
  ['INVALID_UPDATES_PAGE_TOKEN', 'LEDGER_CONTINUATION_TOKEN_INVALID'],
  // Has no category in the release notes that first name it. It means that the participant lost its index database.
  ['INDEX_DB_SQL_NETWORK_TIMEOUT_ERROR', 'LEDGER_UNAVAILABLE'],
  // Its category means "retry", but the same request would always reach the same limit.
  ['JSON_API_MAXIMUM_LIST_ELEMENTS_NUMBER_REACHED', 'LEDGER_REQUEST_INVALID'],
]);

/**
 * By `errorCategory`. Missing on purpose, so that the gRPC code decides: 4 (internal), 13 (never sent over the
 * interface) and -1 (redacted, or not an error of the participant).
 */
export const byCategory: ErrorClasses<number> = new Map([
  // Shutting down, not ready yet, or a passive replica.
  [1, 'LEDGER_UNAVAILABLE'],
  // Overload; for commands also contention (locked contracts, not sequenced in time).
  [2, 'LEDGER_UNAVAILABLE'],
  [3, 'LEDGER_UNAVAILABLE'],
  [5, 'LEDGER_REQUEST_INVALID'],
  [6, 'LEDGER_UNAUTHENTICATED'],
  [7, 'LEDGER_PERMISSION_DENIED'],
  // Offsets, fields, page sizes; in other services INVALID_DAR, DAML_AUTHORIZATION_ERROR, INVALID_USER_UPDATE_REQUEST.
  [8, 'LEDGER_REQUEST_INVALID'],
  // OFFSET_OUT_OF_RANGE; for commands DAML_FAILURE, and commands that no synchronizer accepts.
  [9, 'LEDGER_REQUEST_INVALID'],
  // DUPLICATE_COMMAND, USER_ALREADY_EXISTS.
  [10, 'LEDGER_REQUEST_INVALID'],
  // CONTRACT_NOT_FOUND, USER_NOT_FOUND, PARTY_NOT_FOUND, PACKAGE_NOT_FOUND, and lookups that find nothing.
  [11, 'LEDGER_REQUEST_INVALID'],
  [12, 'LEDGER_OFFSET_AFTER_END'],
  [14, 'LEDGER_REQUEST_INVALID'],
]);

/** By `grpcCodeValue`: all sixteen codes other than success. */
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

/**
 * By HTTP status, for bodies that are not the participant's error object: from its HTTP server, or from a proxy in
 * front of it.
 */
export const byHttpStatus: ErrorClasses<number> = new Map([
  [400, 'LEDGER_REQUEST_INVALID'],
  [401, 'LEDGER_UNAUTHENTICATED'],
  [403, 'LEDGER_PERMISSION_DENIED'],
  [404, 'LEDGER_NOT_A_LEDGER'],
  [408, 'LEDGER_UNAVAILABLE'],
  [409, 'LEDGER_UNAVAILABLE'],
  [413, 'LEDGER_REQUEST_INVALID'],
  [415, 'LEDGER_REQUEST_INVALID'],
  // The request was for another connection, or came before the connection was safe. A new connection may succeed.
  [421, 'LEDGER_UNAVAILABLE'],
  [425, 'LEDGER_UNAVAILABLE'],
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
 * By WebSocket close code. The participant reports everything in frames and closes with 1000, so these codes come from
 * proxies. Codes that are not listed, including 1001, 1006 and 1011, are LEDGER_STREAM_CLOSED.
 */
export const byCloseCode: ErrorClasses<number> = new Map([
  [1008, 'LEDGER_UNAUTHENTICATED'],
  [1009, 'LEDGER_REQUEST_INVALID'],
  [3000, 'LEDGER_UNAUTHENTICATED'],
  [3003, 'LEDGER_PERMISSION_DENIED'],
]);

/** Facts of a failure in a response or a frame; absent ones are ignored. */
export interface ErrorSymptoms {
  readonly ledgerCode?: string | undefined;
  readonly category?: number | undefined;
  readonly grpcCode?: number | undefined;
  readonly httpStatus?: number | undefined;
}

function lookUpCode<Key>(classes: ErrorClasses<Key>, key: Key | undefined): LedgerErrorCode | undefined {
  return key === undefined ? undefined : classes.get(key);
}

/** The code for these symptoms, by ledger code, then category, then gRPC code, then HTTP status. */
function codeOfSymptoms({ ledgerCode, category, grpcCode, httpStatus }: ErrorSymptoms): LedgerErrorCode {
  const knownCode =
    lookUpCode(byLedgerCode, ledgerCode) ??
    lookUpCode(byCategory, category) ??
    lookUpCode(byGrpcCode, grpcCode) ??
    lookUpCode(byHttpStatus, httpStatus);
  if (knownCode !== undefined) return knownCode;
  return httpStatus === undefined || httpStatus >= 500 ? 'LEDGER_INTERNAL' : 'LEDGER_NOT_A_LEDGER';
}
