/**
 * Refusals and other responses by name, for the fault script: the bodies that a participant, or a proxy in front of it,
 * sends.
 */
import {
  LedgerFailure,
  accessTokenExpired,
  afterLedgerEnd,
  failure,
  invalidToken,
  listTooLong,
  permissionDenied,
  prunedAccess,
  redactedInternal,
  staleStreamAuthorization,
  unauthenticated,
} from '../wire/failure.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { RequestTimeout } from '../wire/limits.ts';

type FailureFactory = (ledger: Ledger) => LedgerFailure;

/** A failure of the transport below the ledger. Its code is the description, and its category is unknown. */
function foreign(status: number, grpcCodeValue: number, code: string): LedgerFailure {
  const { body } = redactedInternal();
  return new LedgerFailure({ ...body, code, cause: code, grpcCodeValue }, status);
}

function serviceNotRunning(): LedgerFailure {
  const cause = 'Index Service is not running.';
  const context = { service_name: 'Index Service' };
  return failure({ code: 'SERVICE_NOT_RUNNING', category: 1, cause, context });
}

const overloadFailure = (code: string, cause: string) => (): LedgerFailure => failure({ code, category: 2, cause });

const failures = {
  SERVICE_NOT_RUNNING: serviceNotRunning,
  ABORTED_DUE_TO_SHUTDOWN: () =>
    failure({ code: 'ABORTED_DUE_TO_SHUTDOWN', category: 1, cause: 'The participant is shutting down' }),
  ACCESS_TOKEN_EXPIRED: () => accessTokenExpired(0, 1000),
  STALE_STREAM_AUTHORIZATION: staleStreamAuthorization,
  THREADPOOL_OVERLOADED: overloadFailure('THREADPOOL_OVERLOADED', 'The queue of the worker threads is full'),
  HEAP_MEMORY_OVER_LIMIT: overloadFailure('HEAP_MEMORY_OVER_LIMIT', 'The memory in use is over its limit'),
  SERVER_OVERLOADED: overloadFailure('SERVER_OVERLOADED', 'The number of active streams is at its limit'),
  PARTICIPANT_BACKPRESSURE: overloadFailure('PARTICIPANT_BACKPRESSURE', 'The participant is overloaded'),
  PARTICIPANT_PRUNED_DATA_ACCESSED: (ledger) =>
    prunedAccess(`Transactions request from 1 to ${ledger.ledgerEnd()}`, Math.max(1, ledger.prunedTo())),
  OFFSET_AFTER_LEDGER_END: (ledger) => afterLedgerEnd('Begin offset', ledger.ledgerEnd() + 1, ledger.ledgerEnd()),
  TEMPLATES_OR_INTERFACES_NOT_FOUND: () =>
    failure({
      code: 'TEMPLATES_OR_INTERFACES_NOT_FOUND',
      category: 11,
      cause: 'The package of a payload is not known',
    }),
  INDEX_DB_SQL_NETWORK_TIMEOUT_ERROR: () =>
    failure({
      code: 'INDEX_DB_SQL_NETWORK_TIMEOUT_ERROR',
      category: 1,
      cause: 'Processing the request failed due to a network time-out of the index database',
    }),
  UNSUPPORTED_CONTRACT_ID: () =>
    failure({
      code: 'UNSUPPORTED_CONTRACT_ID',
      category: 11,
      cause: 'The version of the contract id is not supported',
    }),
  TRAFFIC_ACCOUNT_VALIDATION_FAILED: () =>
    failure({
      code: 'TRAFFIC_ACCOUNT_VALIDATION_FAILED',
      category: 9,
      cause: 'The balance of the traffic account does not cover the cost',
      context: { account_id: 'account-1', balance: '10', traffic_cost: '20' },
    }),
  TRAFFIC_UPDATE_OUT_OF_BOUND: () =>
    failure({ code: 'TRAFFIC_UPDATE_OUT_OF_BOUND', category: 9, cause: 'The traffic update is out of bounds' }),
  LIST_TOO_LONG: () => listTooLong(200),
  UNAUTHENTICATED: unauthenticated,
  PERMISSION_DENIED: permissionDenied,
  INVALID_TOKEN: invalidToken,
  INTERNAL: redactedInternal,
  RESOURCE_EXHAUSTED: () => foreign(429, 8, 'too many requests'),
  DEADLINE_EXCEEDED: () => foreign(504, 4, 'deadline exceeded'),
} as const satisfies Readonly<Record<string, FailureFactory>>;

/** A refusal in the participant's own form. */
export type FailureName = keyof typeof failures;
export const failureNames = Object.keys(failures) as readonly FailureName[];

/** The refusal of this name, with the current values of the ledger. */
export function namedFailure(name: FailureName, ledger: Ledger): LedgerFailure {
  const make: FailureFactory = failures[name];
  return make(ledger);
}

/** A complete response. */
export interface Refusal {
  readonly status: number;
  readonly type: string;
  readonly content: string;
}

const plainText = 'text/plain; charset=UTF-8';
const page = '<html><head><title>Bad Gateway</title></head><body><h1>Bad Gateway</h1></body></html>\n';
const unformattedFailures = {
  /** Refusal of the request by the decoder of the interface. */
  UNDECODABLE: { status: 400, type: plainText, content: 'Invalid value for: body' },
  /** The body of the request exceeds the limit of the HTTP server. */
  BODY_TOO_LARGE: { status: 413, type: plainText, content: 'Payload Too Large' },
  /** The request took longer than the HTTP server's timeout. */
  REQUEST_TIMEOUT: { status: 503, type: plainText, content: new RequestTimeout().message },
  /** Response of a proxy without a participant behind it. */
  PROXY_ERROR: { status: 502, type: 'text/html', content: page },
  /** Response of a proxy that returns its own page with status 200. */
  PROXY_PAGE: { status: 200, type: 'text/html', content: page },
} as const satisfies Readonly<Record<string, Refusal>>;

/** Name of a response that is not in the participant's form. */
export type UnformattedFailureName = keyof typeof unformattedFailures;
export const strayNames = Object.keys(unformattedFailures) as readonly UnformattedFailureName[];

/** The response of this name. A response written in full is returned unchanged. */
export function namedResponse(name: FailureName | UnformattedFailureName | Refusal, ledger: Ledger): Refusal {
  if (typeof name === 'object') return name;
  if (name in unformattedFailures) return unformattedFailures[name as UnformattedFailureName];
  const { status, body } = namedFailure(name as FailureName, ledger);
  return { status, type: 'application/json', content: JSON.stringify(body) };
}
