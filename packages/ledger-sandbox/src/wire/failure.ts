/**
 * Refusals of the participant: the JSON body (with recorded key order and nulls) and its HTTP status. On a WebSocket,
 * the same body is one text frame before a close with code 1000.
 */
import { syntaxProblem } from './json.ts';
import type { DeprecatedIn } from './release.ts';
import { formatTimestamp } from './values.ts';
import type { Json, JsonObject } from './json.ts';

const grpcOfCategory: Readonly<Record<number, number>> = {
  1: 14,
  2: 10,
  3: 4,
  4: 13,
  8: 3,
  9: 9,
  10: 6,
  11: 5,
  12: 11,
};
const httpOfGrpc: Readonly<Record<number, number>> = {
  3: 400,
  4: 504,
  5: 404,
  6: 409,
  7: 403,
  9: 400,
  10: 409,
  11: 400,
  12: 501,
  13: 500,
  14: 503,
  16: 401,
};
const retryable = new Set([1, 2, 3, 12]);
const traceId = '31f1a92376dbd40174da3917241f92a4';

export interface FailureOptions {
  readonly code: string;
  readonly category: number;
  readonly cause: string;
  readonly context?: Readonly<Record<string, string>>;
  readonly resources?: readonly (readonly [string, string])[];
  /** Whether the context states that the response is not definite. Default true. */
  readonly saysIndefinite?: boolean;
}

/** A refusal of the ledger, which is thrown inside the sandbox and printed in responses. */
export class LedgerFailure extends Error {
  override readonly name = 'LedgerFailure';
  readonly body: JsonObject;
  readonly status: number;

  constructor(body: JsonObject, status: number) {
    super(typeof body['code'] === 'string' ? body['code'] : 'failure');
    this.body = body;
    this.status = status;
  }
}

/** A refusal with a code of its own. */
export function failure(options: FailureOptions): LedgerFailure {
  const grpc = grpcOfCategory[options.category] ?? 13;
  const context = {
    participant: "'participant1'",
    tid: traceId,
    category: String(options.category),
    ...(options.saysIndefinite === false ? {} : { definite_answer: 'false' }),
    ...options.context,
  };
  const body: JsonObject = {
    code: options.code,
    cause: options.cause,
    correlationId: null,
    traceId,
    context,
    resources: options.resources ?? [],
    errorCategory: options.category,
    grpcCodeValue: grpc,
    retryInfo: retryable.has(options.category) ? '1 second' : null,
    definiteAnswer: null,
  };
  return new LedgerFailure(body, httpOfGrpc[grpc] ?? 500);
}

function redactedFailure(grpcCodeValue: number, context: JsonObject = {}): LedgerFailure {
  const body: JsonObject = {
    code: 'NA',
    cause: 'A security-sensitive error has been received',
    correlationId: traceId,
    traceId,
    context,
    resources: [],
    errorCategory: -1,
    grpcCodeValue,
    retryInfo: null,
    definiteAnswer: null,
  };
  return new LedgerFailure(body, httpOfGrpc[grpcCodeValue] ?? 500);
}

/** The redacted response to a missing, expired or wrong token. */
export function unauthenticated(): LedgerFailure {
  return redactedFailure(16);
}

/** The redacted response to a user that lacks the right. */
export function permissionDenied(): LedgerFailure {
  return redactedFailure(7);
}

/** The response to a valid token whose user cannot be resolved. It is the only refusal that fails a handshake. */
export function invalidToken(): LedgerFailure {
  return redactedFailure(7, { ledger_api_error: 'invalid token' });
}

/** Ends a running stream whose token has expired. It belongs to no request, so it has no trace. */
export function accessTokenExpired(endedAt: number, now: number): LedgerFailure {
  const [until, at] = [endedAt, now].map((time) => formatTimestamp(time * 1000));
  const cause = `Claims were valid until ${until}, current time is ${at}`;
  const { body, status } = failure({ code: 'ACCESS_TOKEN_EXPIRED', category: 2, cause });
  const { tid: _, ...context } = body['context'] as JsonObject;
  return new LedgerFailure({ ...body, traceId: null, context }, status);
}

/** Ends a running stream whose user has other rights than at its start. */
export function staleStreamAuthorization(): LedgerFailure {
  const cause = 'Stale stream authorization. Retry quickly.';
  return failure({ code: 'STALE_STREAM_AUTHORIZATION', category: 2, cause });
}

/** The redacted response to a bug, or to an operation that the participant does not support. */
export function redactedInternal(): LedgerFailure {
  return redactedFailure(13);
}

/**
 * Thrown for a request that the decoder of the interface refuses before any code of the ledger runs: 400 text/plain.
 */
export class UndecodableRequest extends Error {
  override readonly name = 'Undecodable';

  /** @param problem e.g. `body`, `query parameter vetAllPackages` */
  constructor(problem: string, detail = '') {
    super(`Invalid value for: ${problem}${detail === '' ? '' : ` (${detail})`}`);
  }
}

/**
 * Refuses a body that lacks keys for which the decoder has no default, e.g. `commands.commandId`. The refusal names
 * them.
 */
export function requireKeys(body: JsonObject, paths: readonly string[]): void {
  const isMissing = (path: string): boolean => {
    let current: Json | undefined = body;
    for (const key of path.split('.')) current = (current as JsonObject | undefined)?.[key] ?? undefined;
    return current === undefined;
  };
  const missingProblems = paths.filter(isMissing).map((path) => `Missing required field at '${path}'`);
  if (missingProblems.length > 0) throw new UndecodableRequest('body', missingProblems.join(', '));
}

/** The response to a first frame that is not a request. */
export function undecodableFrame(text: string): LedgerFailure {
  const excerpt = text.slice(0, 200);
  const problem = syntaxProblem(text);
  const exceptionText =
    problem === undefined ? '' : `JsonDecodeException(List(JsonError(${problem},List())),io.circe.Errors)`;
  const cause = `Cannot decode frame: Text(${excerpt},true,None)${exceptionText === '' ? '' : `, due to: Error(${excerpt},${exceptionText})`}`;
  const body: JsonObject = {
    code: 'LEDGER_API_INTERNAL_ERROR',
    cause,
    correlationId: null,
    traceId: null,
    context: { throwableO: `Some(sttp.tapir.model.WebSocketFrameDecodeFailure: ${cause})` },
    resources: [],
    errorCategory: 4,
    grpcCodeValue: 13,
    retryInfo: null,
    definiteAnswer: false,
  };
  return new LedgerFailure(body, 500);
}

/**
 * The refusal of a disabled endpoint or field, sent before any other part of the request is read. As recorded, it has
 * no context and no category.
 * @param feature e.g. `The endpoint /v2/updates/trees`
 */
export function deprecatedDisabled(feature: string, deprecatedIn: DeprecatedIn): LedgerFailure {
  const cause =
    `${feature} was deprecated in Canton ${deprecatedIn}, is disabled by default since Canton 3.6 and will be removed in ` +
    'Canton 3.7.';
  return new LedgerFailure({ code: 'DEPRECATED_API_DISABLED', cause, correlationId: null, traceId }, 400);
}

export function invalidArgument(problem: string): LedgerFailure {
  const cause = `The submitted request has invalid arguments: ${problem}`;
  return failure({ code: 'INVALID_ARGUMENT', category: 8, cause });
}

/** INVALID_FIELD for a value that does not have the form of its field. */
export function invalidField(field: string, problem: string): LedgerFailure {
  const cause = `The submitted command has a field with invalid value: Invalid field ${field}: ${problem}`;
  return failure({ code: 'INVALID_FIELD', category: 8, cause });
}

/** @param field e.g. `begin_exclusive` */
export function negativeOffset(offset: number | bigint, field: string): LedgerFailure {
  const rule = `the offset in ${field} field has to be a non-negative integer (>=0)`;
  const cause = `Offset ${offset} in ${field} is a negative integer: ${rule}`;
  return failure({ code: 'NEGATIVE_OFFSET', category: 8, cause, saysIndefinite: false });
}

/** @param field e.g. `end_inclusive` */
export function nonPositiveOffset(offset: number | bigint, field: string): LedgerFailure {
  const rule = `the offset in ${field} field has to be a positive integer (>0)`;
  const cause = `Offset ${offset} in ${field} is a non-positive integer: ${rule}`;
  return failure({ code: 'NON_POSITIVE_OFFSET', category: 8, cause, saysIndefinite: false });
}

export function missingField(field: string): LedgerFailure {
  const cause = `The submitted command is missing a mandatory field: ${field}`;
  return failure({ code: 'MISSING_FIELD', category: 8, cause, context: { field_name: field } });
}

/** @param subject `Begin offset`, `End offset` or `active_at_offset offset` */
export function afterLedgerEnd(
  subject: string,
  offset: number | bigint,
  ledgerEnd: number,
  context: Readonly<Record<string, string>> = {},
): LedgerFailure {
  const cause = `${subject} (${offset}) is after ledger end (${ledgerEnd})`;
  return failure({ code: 'OFFSET_AFTER_LEDGER_END', category: 12, cause, context });
}

/** @param request e.g. `Transactions request from 6 to 250` */
export function prunedAccess(
  request: string,
  prunedOffset: number,
  extraContext: Readonly<Record<string, string>> = {},
): LedgerFailure {
  const cause = `${request} precedes pruned offset ${prunedOffset}`;
  const context = { earliest_offset: String(prunedOffset), ...extraContext };
  return failure({ code: 'PARTICIPANT_PRUNED_DATA_ACCESSED', category: 9, cause, context });
}

/**
 * The same code from a participant that does not know which reassignments were in flight, even if nothing was pruned.
 */
export function inFlightAccess(offset: number): LedgerFailure {
  const cause = `Active contracts request at offset ${offset}: an update of a reassignment in flight is not available`;
  return failure({ code: 'PARTICIPANT_PRUNED_DATA_ACCESSED', category: 9, cause });
}

export function listTooLong(limit: number): LedgerFailure {
  const cause = `The number of matching elements (${limit + 1}) is greater than the node limit (${limit}).`;
  const code = 'JSON_API_MAXIMUM_LIST_ELEMENTS_NUMBER_REACHED';
  // Sent by the HTTP server in front of the ledger, so it has no context and is definite.
  const { body } = failure({ code, category: 2, cause });
  return new LedgerFailure({ ...body, correlationId: traceId, context: {}, definiteAnswer: false }, 413);
}
