/**
 * The documented rejections, each with the HTTP status and code of the response and the resulting error of the client.
 * In streams, the codes are the same, but there is no status.
 */

export interface ExpectedOutcome {
  readonly status: number;
  /** Code in the response body; undefined for responses that are not an error object. */
  readonly ledgerCode?: string;
  /** Code of the client's error; undefined if the client returns undefined for "not found". */
  readonly code?: string;
}

const invalid = (ledgerCode: string, status = 400): ExpectedOutcome => ({
  status,
  ledgerCode,
  code: 'LEDGER_REQUEST_INVALID',
});
const notFound = (ledgerCode: string): ExpectedOutcome => ({ status: 404, ledgerCode });
const conflictOutcome = (ledgerCode: string, status = 409): ExpectedOutcome => ({
  status,
  ledgerCode,
  code: 'LEDGER_UNAVAILABLE',
});

export const outcomes = {
  '400 text/plain': { status: 400, code: 'LEDGER_REQUEST_INVALID' },
  '413 text/plain': { status: 413, code: 'LEDGER_REQUEST_INVALID' },
  '404 unknown path': { status: 404, code: 'LEDGER_NOT_A_LEDGER' },
  /** The client refuses the call before it sends anything. */
  removed: { status: 0, code: 'LEDGER_API_DISABLED' },
  '401': { status: 401, ledgerCode: 'NA', code: 'LEDGER_UNAUTHENTICATED' },
  '403': { status: 403, ledgerCode: 'NA', code: 'LEDGER_PERMISSION_DENIED' },
  JSON_API_MAXIMUM_LIST_ELEMENTS_NUMBER_REACHED: invalid('JSON_API_MAXIMUM_LIST_ELEMENTS_NUMBER_REACHED', 413),
  INVALID_ARGUMENT: invalid('INVALID_ARGUMENT'),
  INVALID_FIELD: invalid('INVALID_FIELD'),
  NO_PREFERRED_PACKAGES_FOUND: invalid('NO_PREFERRED_PACKAGES_FOUND'),
  MISSING_FIELD: invalid('MISSING_FIELD'),
  NEGATIVE_OFFSET: invalid('NEGATIVE_OFFSET'),
  NON_POSITIVE_OFFSET: invalid('NON_POSITIVE_OFFSET'),
  DESCENDING_ORDER_MISSING_END: invalid('DESCENDING_ORDER_MISSING_END'),
  OFFSET_OUT_OF_RANGE: invalid('OFFSET_OUT_OF_RANGE'),
  DEPRECATED_API_DISABLED: { status: 400, ledgerCode: 'DEPRECATED_API_DISABLED', code: 'LEDGER_API_DISABLED' },
  OFFSET_AFTER_LEDGER_END: { status: 400, ledgerCode: 'OFFSET_AFTER_LEDGER_END', code: 'LEDGER_OFFSET_AFTER_END' },
  PARTICIPANT_PRUNED_DATA_ACCESSED: {
    status: 400,
    ledgerCode: 'PARTICIPANT_PRUNED_DATA_ACCESSED',
    code: 'LEDGER_PRUNED',
  },
  PACKAGE_NAMES_NOT_FOUND: { status: 404, ledgerCode: 'PACKAGE_NAMES_NOT_FOUND', code: 'LEDGER_FILTER_UNKNOWN' },
  NO_TEMPLATES_FOR_PACKAGE_NAME_AND_QUALIFIED_NAME: {
    status: 404,
    ledgerCode: 'NO_TEMPLATES_FOR_PACKAGE_NAME_AND_QUALIFIED_NAME',
    code: 'LEDGER_FILTER_UNKNOWN',
  },
  NO_INTERFACE_FOR_PACKAGE_NAME_AND_QUALIFIED_NAME: {
    status: 404,
    ledgerCode: 'NO_INTERFACE_FOR_PACKAGE_NAME_AND_QUALIFIED_NAME',
    code: 'LEDGER_FILTER_UNKNOWN',
  },
  TEMPLATES_OR_INTERFACES_NOT_FOUND: {
    status: 404,
    ledgerCode: 'TEMPLATES_OR_INTERFACES_NOT_FOUND',
    code: 'LEDGER_PACKAGE_UNKNOWN',
  },
  INVALID_CONTINUATION_TOKEN: {
    status: 400,
    ledgerCode: 'INVALID_CONTINUATION_TOKEN',
    code: 'LEDGER_CONTINUATION_TOKEN_INVALID',
  },
  INVALID_ACS_PAGE_TOKEN: {
    status: 400,
    ledgerCode: 'INVALID_ACS_PAGE_TOKEN',
    code: 'LEDGER_CONTINUATION_TOKEN_INVALID',
  },
  INVALID_UPDATES_PAGE_TOKEN: {
    status: 400,
    ledgerCode: 'INVALID_UPDATES_PAGE_TOKEN',
    code: 'LEDGER_CONTINUATION_TOKEN_INVALID',
  },
  UPDATE_NOT_FOUND: notFound('UPDATE_NOT_FOUND'),
  COMPLETION_NOT_FOUND: notFound('COMPLETION_NOT_FOUND'),
  CONTRACT_EVENTS_NOT_FOUND: notFound('CONTRACT_EVENTS_NOT_FOUND'),
  CONTRACT_PAYLOAD_NOT_FOUND: notFound('CONTRACT_PAYLOAD_NOT_FOUND'),
  PACKAGE_NOT_FOUND: invalid('PACKAGE_NOT_FOUND', 404),
  USER_NOT_FOUND: invalid('USER_NOT_FOUND', 404),
  USER_ALREADY_EXISTS: invalid('USER_ALREADY_EXISTS', 409),
  CONTRACT_NOT_FOUND: invalid('CONTRACT_NOT_FOUND', 404),
  CONTRACT_KEY_NOT_FOUND: invalid('CONTRACT_KEY_NOT_FOUND', 404),
  DUPLICATE_COMMAND: invalid('DUPLICATE_COMMAND', 409),
  DAML_FAILURE: invalid('DAML_FAILURE'),
  DAML_AUTHORIZATION_ERROR: invalid('DAML_AUTHORIZATION_ERROR'),
  INVALID_DEDUPLICATION_PERIOD: invalid('INVALID_DEDUPLICATION_PERIOD'),
  INVALID_PRESCRIBED_SYNCHRONIZER_ID: invalid('INVALID_PRESCRIBED_SYNCHRONIZER_ID'),
  INVALID_DAR: invalid('INVALID_DAR'),
  DAR_PARSE_ERROR: invalid('DAR_PARSE_ERROR'),
  KNOWN_PACKAGE_VERSION: invalid('KNOWN_PACKAGE_VERSION'),
  TOPOLOGY_INVALID_SIGNATURE: invalid('TOPOLOGY_INVALID_SIGNATURE'),
  FAILED_TO_PREPARE_TRANSACTION: invalid('FAILED_TO_PREPARE_TRANSACTION'),
  FAILED_TO_EXECUTE_TRANSACTION: invalid('FAILED_TO_EXECUTE_TRANSACTION'),
  LEDGER_API_INTERNAL_ERROR: { status: 500, ledgerCode: 'LEDGER_API_INTERNAL_ERROR', code: 'LEDGER_INTERNAL' },
  ACCESS_TOKEN_EXPIRED: { status: 409, ledgerCode: 'ACCESS_TOKEN_EXPIRED', code: 'LEDGER_TOKEN_EXPIRED' },
  STALE_STREAM_AUTHORIZATION: {
    status: 409,
    ledgerCode: 'STALE_STREAM_AUTHORIZATION',
    code: 'LEDGER_STALE_AUTHORIZATION',
  },
  SERVICE_NOT_RUNNING: conflictOutcome('SERVICE_NOT_RUNNING', 503),
  SERVER_OVERLOADED: conflictOutcome('SERVER_OVERLOADED'),
} as const satisfies Readonly<Record<string, ExpectedOutcome>>;

export type OutcomeName = keyof typeof outcomes;

/** The status and codes of an outcome. */
export function expectedOf(outcome: OutcomeName): ExpectedOutcome {
  return outcomes[outcome];
}
