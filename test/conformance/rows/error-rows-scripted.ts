/** Errors that cannot be provoked on a healthy participant. The fault script of the sandbox sends them. */
import type { JsonObject } from '../../../packages/ledger-sandbox/src/wire/json.ts';
import type { Refusal } from '../../../packages/ledger-sandbox/src/faults/named-failures.ts';
import { updatesAfter, errorOf, streamed, type ErrorRow, type ErrorSource } from './error-row.ts';

const traceId = '3051d9f0355445a8fa7b910f3ebecc7f';

interface ReportedError {
  readonly code: string;
  readonly category: number;
  readonly grpc: number;
  readonly status: number;
  readonly cause?: string;
}

function bodyOf({ code, category, grpc, cause = 'a cause' }: ReportedError): JsonObject {
  const isRedacted = category === -1;
  const retryable = [1, 2, 3, 12].includes(category);
  const context = { category: String(category), tid: traceId, definite_answer: 'false', commands: '{secret: data}' };
  return {
    code,
    cause,
    correlationId: null,
    traceId: isRedacted ? null : traceId,
    context: isRedacted ? {} : context,
    resources: isRedacted ? [] : [['ErrorResource(CONTRACT_KEY)', 'secret data']],
    errorCategory: category,
    grpcCodeValue: grpc,
    retryInfo: retryable ? '1 second' : null,
    definiteAnswer: null,
  };
}

/** Raises the error of a request that gets this response. */
function respondError(refusal: Refusal): ErrorSource {
  return ({ sandbox, client }) => {
    sandbox.faults.answer = { as: refusal };
    return errorOf(client.state.ledgerEnd());
  };
}

/** Raises the error of a stream that ends with this frame, after two data frames. */
function frameError(body: JsonObject): ErrorSource {
  return (errorStage) => {
    errorStage.sandbox.faults.errorFrameOnce = { body, afterFrames: 2 };
    return streamed('/v2/updates', updatesAfter(0))(errorStage);
  };
}

/** Raises the error of a handshake that is rejected in this way. */
function refuseRequest(refusal: Refusal): ErrorSource {
  return (errorStage) => {
    errorStage.sandbox.faults.refuseUpgrade = { as: refusal };
    return streamed('/v2/updates', updatesAfter(0))(errorStage);
  };
}

function scriptedRow(code: string, error: ReportedError): ErrorRow {
  const { category, grpc, status } = error;
  const body = bodyOf(error);
  const knownFields = category === -1 ? {} : { traceId, definiteAnswer: false, resources: 'CONTRACT_KEY' };
  return {
    says: `${error.code} of category ${category} and gRPC ${grpc}`,
    code,
    facts: { ledgerCode: error.code, category, grpcCode: grpc, ...knownFields },
    httpStatus: status,
    http: respondError({ status, type: 'application/json', content: JSON.stringify(body) }),
    ws: frameError(body),
  };
}

/** Ledger codes whose causes a test cannot provoke, each with the expected code of the client. */
const codes: readonly (readonly [code: string, error: ReportedError])[] = [
  ['LEDGER_UNAVAILABLE', { code: 'SERVICE_NOT_RUNNING', category: 1, grpc: 14, status: 503 }],
  ['LEDGER_UNAVAILABLE', { code: 'ABORTED_DUE_TO_SHUTDOWN', category: 1, grpc: 14, status: 503 }],
  ['LEDGER_UNAVAILABLE', { code: 'INDEX_DB_SQL_NETWORK_TIMEOUT_ERROR', category: 4, grpc: 13, status: 500 }],
  ['LEDGER_REQUEST_INVALID', { code: 'UNSUPPORTED_CONTRACT_ID', category: 11, grpc: 5, status: 404 }],
  ['LEDGER_REQUEST_INVALID', { code: 'TRAFFIC_ACCOUNT_VALIDATION_FAILED', category: 9, grpc: 9, status: 400 }],
  ['LEDGER_UNAVAILABLE', { code: 'THREADPOOL_OVERLOADED', category: 2, grpc: 10, status: 409 }],
  ['LEDGER_UNAVAILABLE', { code: 'HEAP_MEMORY_OVER_LIMIT', category: 2, grpc: 10, status: 409 }],
  ['LEDGER_UNAVAILABLE', { code: 'PARTICIPANT_BACKPRESSURE', category: 2, grpc: 10, status: 409 }],
  ['LEDGER_UNAVAILABLE', { code: 'SERVER_OVERLOADED', category: 2, grpc: 10, status: 409 }],
  [
    'LEDGER_OFFSET_AFTER_END',
    { code: 'PARTICIPANT_DATA_ACCESSED_AFTER_LEDGER_END', category: 9, grpc: 9, status: 400 },
  ],
  ['LEDGER_PACKAGE_UNKNOWN', { code: 'TEMPLATES_OR_INTERFACES_NOT_FOUND', category: 11, grpc: 5, status: 404 }],
  ['LEDGER_INTERNAL', { code: 'LEDGER_API_INTERNAL_ERROR', category: 4, grpc: 13, status: 500 }],
];

/**
 * The expected code of the client for each category, with unknown ledger codes. For category 13, which is never sent,
 * the gRPC code decides.
 */
const categories: readonly (readonly [category: number, grpc: number, status: number, code: string])[] = [
  [1, 14, 503, 'LEDGER_UNAVAILABLE'],
  [2, 10, 409, 'LEDGER_UNAVAILABLE'],
  [3, 4, 504, 'LEDGER_UNAVAILABLE'],
  [4, 13, 500, 'LEDGER_INTERNAL'],
  [5, 3, 400, 'LEDGER_REQUEST_INVALID'],
  [6, 16, 401, 'LEDGER_UNAUTHENTICATED'],
  [7, 7, 403, 'LEDGER_PERMISSION_DENIED'],
  [8, 3, 400, 'LEDGER_REQUEST_INVALID'],
  [9, 9, 400, 'LEDGER_REQUEST_INVALID'],
  [10, 6, 409, 'LEDGER_REQUEST_INVALID'],
  [11, 5, 404, 'LEDGER_REQUEST_INVALID'],
  [12, 11, 400, 'LEDGER_OFFSET_AFTER_END'],
  [13, 13, 500, 'LEDGER_INTERNAL'],
  [14, 12, 501, 'LEDGER_REQUEST_INVALID'],
];

/** gRPC statuses with their HTTP statuses, for redacted errors and for errors from layers below the participant. */
const grpcStatuses: readonly (readonly [grpc: number, status: number, code: string])[] = [
  [1, 499, 'LEDGER_UNAVAILABLE'],
  [2, 500, 'LEDGER_INTERNAL'],
  [3, 400, 'LEDGER_REQUEST_INVALID'],
  [4, 504, 'LEDGER_UNAVAILABLE'],
  [5, 404, 'LEDGER_REQUEST_INVALID'],
  [6, 409, 'LEDGER_REQUEST_INVALID'],
  [7, 403, 'LEDGER_PERMISSION_DENIED'],
  [8, 429, 'LEDGER_UNAVAILABLE'],
  [9, 400, 'LEDGER_REQUEST_INVALID'],
  [10, 409, 'LEDGER_UNAVAILABLE'],
  [11, 400, 'LEDGER_OFFSET_AFTER_END'],
  [12, 501, 'LEDGER_REQUEST_INVALID'],
  [13, 500, 'LEDGER_INTERNAL'],
  [14, 503, 'LEDGER_UNAVAILABLE'],
  [15, 500, 'LEDGER_INTERNAL'],
  [16, 401, 'LEDGER_UNAUTHENTICATED'],
];

const redactedCause = 'A security-sensitive error has been received';

/** Plain-text responses of the participant's HTTP server or of a proxy. */
const statuses: readonly (readonly [status: number, code: string])[] = [
  [302, 'LEDGER_NOT_A_LEDGER'],
  [400, 'LEDGER_REQUEST_INVALID'],
  [401, 'LEDGER_UNAUTHENTICATED'],
  [403, 'LEDGER_PERMISSION_DENIED'],
  [404, 'LEDGER_NOT_A_LEDGER'],
  [408, 'LEDGER_UNAVAILABLE'],
  [409, 'LEDGER_UNAVAILABLE'],
  [413, 'LEDGER_REQUEST_INVALID'],
  [415, 'LEDGER_REQUEST_INVALID'],
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
  [599, 'LEDGER_INTERNAL'],
];

function strayError(code: string, condition: string, refusal: Refusal, message: RegExp): ErrorRow {
  const { status } = refusal;
  // Streams are retried, because a missing route of a gateway may come back.
  const streamRetry = status === 404 ? ({ isRetriedStream: true } as const) : {};
  return {
    says: condition,
    code,
    facts: { httpStatus: status },
    message,
    http: respondError(refusal),
    ws: refuseRequest(refusal),
    ...streamRetry,
  };
}

const page = '<html><body><h1>Bad Gateway</h1></body></html>';

/** Close codes of streams without an error frame. 1006 is a lost connection. */
const closes: readonly (readonly [closeCode: number, code: string])[] = [
  [1001, 'LEDGER_STREAM_CLOSED'],
  [1006, 'LEDGER_STREAM_CLOSED'],
  [1008, 'LEDGER_UNAUTHENTICATED'],
  [1009, 'LEDGER_REQUEST_INVALID'],
  [1011, 'LEDGER_STREAM_CLOSED'],
  [3000, 'LEDGER_UNAUTHENTICATED'],
  [3003, 'LEDGER_PERMISSION_DENIED'],
];

function closedStream(closeCode: number): ErrorSource {
  return (errorStage) => {
    if (closeCode === 1006) errorStage.sandbox.faults.cut = { afterFrames: 2 };
    else errorStage.sandbox.faults.close = { code: closeCode, afterFrames: 2 };
    return streamed('/v2/updates', updatesAfter(0))(errorStage);
  };
}

export const scriptedRows: readonly ErrorRow[] = [
  ...codes.map(([code, error]) => scriptedRow(code, error)),
  ...categories.map(([category, grpc, status, code]) =>
    scriptedRow(code, { code: 'NEW_CODE', category, grpc, status }),
  ),
  ...grpcStatuses.map(([grpc, status, code]) =>
    scriptedRow(code, { code: 'NA', category: -1, grpc, status, cause: redactedCause }),
  ),
  scriptedRow('LEDGER_UNAVAILABLE', { code: 'deadline exceeded after 20s', category: -1, grpc: 4, status: 504 }),
  ...statuses.map(([status, code]) =>
    strayError(
      code,
      `HTTP ${status} in plain text`,
      { status, type: 'text/plain', content: 'why not' },
      /HTTP \d+: why not$/,
    ),
  ),
  strayError(
    'LEDGER_UNAVAILABLE',
    'an HTML error page of a proxy',
    { status: 502, type: 'text/html', content: page },
    /HTTP 502 with a web page/,
  ),
  ...closes.map(([closeCode, code]) => ({
    says: `close code ${closeCode}`,
    code,
    facts: { closeCode },
    ws: closedStream(closeCode),
  })),
];
