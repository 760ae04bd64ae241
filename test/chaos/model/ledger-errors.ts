/** The error objects that a participant sends, as frames and as responses. */

export interface LedgerErrorFrame {
  readonly code: string;
  readonly cause: string;
  readonly correlationId: string | null;
  readonly traceId: string | null;
  readonly context: Readonly<Record<string, string>>;
  readonly resources: readonly (readonly [string, string])[];
  readonly errorCategory: number;
  readonly grpcCodeValue: number | null;
  readonly retryInfo: string | null;
  readonly definiteAnswer: boolean | null;
}

function ledgerError(
  code: string,
  errorCategory: number,
  grpcCodeValue: number,
  cause: string,
  context: Readonly<Record<string, string>> = {},
): LedgerErrorFrame {
  return {
    code,
    cause,
    correlationId: null,
    traceId: null,
    context,
    resources: [],
    errorCategory,
    grpcCodeValue,
    retryInfo: null,
    definiteAnswer: null,
  };
}

const redactedCause = 'A security-sensitive error has been received';

export const ledgerErrors = {
  unavailable: ledgerError('SERVICE_NOT_RUNNING', 1, 14, 'Index Service is not running.'),
  overloaded: ledgerError('SERVER_OVERLOADED', 2, 10, 'The server is overloaded.'),
  deadline: ledgerError('REQUEST_TIME_OUT', 3, 4, 'The request took too long.'),
  internal: ledgerError('NA', -1, 13, redactedCause),
  tokenExpired: ledgerError('ACCESS_TOKEN_EXPIRED', 2, 10, 'JWT token has expired'),
  staleAuthorization: ledgerError('STALE_STREAM_AUTHORIZATION', 2, 10, 'Stale stream authorization. Retry quickly.'),
  unauthenticated: ledgerError('NA', -1, 16, redactedCause),
  denied: ledgerError('NA', -1, 7, redactedCause),
  notFound: ledgerError('PACKAGE_NOT_FOUND', 11, 5, 'There is no such package.'),
  updateNotFound: ledgerError('UPDATE_NOT_FOUND', 11, 5, 'Update not found, or not visible.'),
  listTooLong: ledgerError('JSON_API_MAXIMUM_LIST_ELEMENTS_NUMBER_REACHED', 2, 10, 'The list is too long.'),
  badToken: ledgerError('INVALID_CONTINUATION_TOKEN', 8, 3, 'The continuation token is not valid here.'),
  foreign: ledgerError('upstream connect error', -1, 14, 'upstream connect error or disconnect/reset before headers'),
  afterEnd: (begin: number, end: number): LedgerErrorFrame =>
    ledgerError(
      'OFFSET_AFTER_LEDGER_END',
      12,
      11,
      `Begin offset (${String(begin)}) is after ledger end (${String(end)})`,
    ),
  pruned: (prunedOffset: number): LedgerErrorFrame =>
    ledgerError(
      'PARTICIPANT_PRUNED_DATA_ACCESSED',
      9,
      9,
      `The request precedes pruned offset ${String(prunedOffset)}`,
      {
        earliest_offset: String(prunedOffset),
      },
    ),
};
