/** Errors that result from the request or from the state of the participant. */
import {
  activeAt,
  updatesAfter,
  clientOf,
  contractsRefused,
  errorOf,
  posted,
  streamed,
  updateFormat,
  updatesRefused,
  wire,
  type ErrorRow,
  type ErrorSource,
} from './error-row.ts';

const template = (templateId: string): object => ({
  updateFormat: updateFormat({ TemplateFilter: { value: { templateId } } }),
});
const interfaceNamed = (interfaceId: string): object => ({
  updateFormat: updateFormat({ InterfaceFilter: { value: { interfaceId, includeInterfaceView: true } } }),
});

const prunedRow: Pick<ErrorRow, 'code' | 'facts' | 'httpStatus'> = {
  code: 'LEDGER_PRUNED',
  facts: wire('PARTICIPANT_PRUNED_DATA_ACCESSED', 9, 9, { earliestOffset: 10 }),
  httpStatus: 400,
};
const prunedFirst =
  (provokeError: ErrorSource): ErrorSource =>
  (errorStage) => {
    errorStage.sandbox.ledger.pruneTo(10);
    return provokeError(errorStage);
  };

const pruning: readonly ErrorRow[] = [
  {
    ...prunedRow,
    says: 'updates below the pruned offset',
    http: prunedFirst(posted('/v2/updates', updatesAfter(5, { endInclusive: 15 }))),
    ws: prunedFirst(streamed('/v2/updates', updatesAfter(5))),
  },
  {
    ...prunedRow,
    says: 'active contracts below the pruned offset',
    http: prunedFirst(posted('/v2/state/active-contracts', activeAt(5))),
    ws: prunedFirst(streamed('/v2/state/active-contracts', activeAt(5))),
  },
  {
    ...prunedRow,
    says: 'pruning past the position of a stream',
    facts: wire('PARTICIPANT_PRUNED_DATA_ACCESSED', 9, 9, { earliestOffset: 1 }),
    ws: (errorStage) => {
      errorStage.sandbox.faults.streamFailure = { failure: 'PARTICIPANT_PRUNED_DATA_ACCESSED', afterFrames: 2 };
      return streamed('/v2/updates', updatesAfter(0))(errorStage);
    },
  },
];

const invalid = (condition: string, code: string, category: number, grpc: number): Omit<ErrorRow, 'http' | 'ws'> => ({
  says: condition,
  code: 'LEDGER_REQUEST_INVALID',
  facts: wire(code, category, grpc),
  httpStatus: category === 11 ? 404 : category === 10 ? 409 : 400,
});

/** Offset errors have no `definiteAnswer`. */
const invalidOffset = (condition: string, code: string): Omit<ErrorRow, 'http' | 'ws'> => ({
  ...invalid(condition, code, 8, 3),
  facts: wire(code, 8, 3, { definiteAnswer: undefined }),
});

const expiredRow: Pick<ErrorRow, 'code' | 'facts' | 'httpStatus'> = {
  code: 'LEDGER_OFFSET_AFTER_END',
  facts: wire('OFFSET_AFTER_LEDGER_END', 12, 11, { retryInfo: '1 second', latestOffset: /^\d+$/ }),
  httpStatus: 400,
};

const requests: readonly ErrorRow[] = [
  { ...expiredRow, says: 'a begin offset after the ledger end', ...updatesRefused(updatesAfter(1_000)) },
  {
    ...expiredRow,
    says: 'an end offset after the ledger end',
    ...updatesRefused(updatesAfter(0, { endInclusive: 1_000 })),
  },
  { ...expiredRow, says: 'active contracts after the ledger end', ...contractsRefused(activeAt(1_000)) },
  {
    ...invalid('an end offset before the begin offset', 'OFFSET_OUT_OF_RANGE', 9, 9),
    ...updatesRefused(updatesAfter(5, { endInclusive: 2 })),
  },
  { ...invalidOffset('a negative begin offset', 'NEGATIVE_OFFSET'), ...updatesRefused(updatesAfter(-1)) },
  { ...invalidOffset('a negative activeAtOffset', 'NEGATIVE_OFFSET'), ...contractsRefused(activeAt(-1)) },
  {
    ...invalidOffset('an end offset of zero', 'NON_POSITIVE_OFFSET'),
    ...updatesRefused(updatesAfter(0, { endInclusive: 0 })),
  },
  {
    ...invalid('a descending order without an end', 'DESCENDING_ORDER_MISSING_END', 8, 3),
    ...updatesRefused(updatesAfter(0, { descendingOrder: true })),
  },
  { ...invalid('a request without a format', 'INVALID_ARGUMENT', 8, 3), ...updatesRefused({ beginExclusive: 0 }) },
  {
    ...invalid('a request with new and legacy formats', 'INVALID_ARGUMENT', 8, 3),
    ...updatesRefused(updatesAfter(0, { verbose: true })),
  },
  {
    ...invalid('a template by package id', 'INVALID_FIELD', 8, 3),
    ...updatesRefused(updatesAfter(0, template('1220ab:Iou:Iou'))),
  },
  {
    ...invalid('transactions without a shape', 'MISSING_FIELD', 8, 3),
    ...updatesRefused(updatesAfter(0, { updateFormat: { includeTransactions: {} } })),
  },
];

const unknownName = (says: string, ledgerCode: string): Omit<ErrorRow, 'http' | 'ws'> => ({
  says,
  code: 'LEDGER_FILTER_UNKNOWN',
  facts: wire(ledgerCode, 11, 5),
  httpStatus: 404,
});

const names: readonly ErrorRow[] = [
  {
    ...unknownName('a package that was not uploaded', 'PACKAGE_NAMES_NOT_FOUND'),
    ...updatesRefused(updatesAfter(0, template('#nope:Iou:Iou'))),
  },
  {
    ...unknownName('a template that the package does not contain', 'NO_TEMPLATES_FOR_PACKAGE_NAME_AND_QUALIFIED_NAME'),
    ...updatesRefused(updatesAfter(0, template('#model-tests:Iou:Nope'))),
  },
  {
    ...unknownName(
      'an interface that the package does not contain',
      'NO_INTERFACE_FOR_PACKAGE_NAME_AND_QUALIFIED_NAME',
    ),
    ...updatesRefused(updatesAfter(0, interfaceNamed('#model-tests:Iou:Nope'))),
  },
];

const token = (says: string, ledgerCode: string): Omit<ErrorRow, 'http' | 'ws'> => ({
  says,
  code: 'LEDGER_CONTINUATION_TOKEN_INVALID',
  facts: wire(ledgerCode, 8, 3),
  httpStatus: 400,
});

const tokens: readonly ErrorRow[] = [
  {
    ...token('a continuation token of another request', 'INVALID_CONTINUATION_TOKEN'),
    ...contractsRefused(activeAt(5, { streamContinuationToken: 'AAAA' })),
  },
  {
    ...token('a page token of other active contracts', 'INVALID_ACS_PAGE_TOKEN'),
    http: posted('/v2/state/active-contracts-page', activeAt(5, { pageToken: 'AAAA' })),
  },
  {
    ...token('a page token of other updates', 'INVALID_UPDATES_PAGE_TOKEN'),
    http: posted('/v2/updates/get-updates-page', { updateFormat: updateFormat(), pageToken: 'AAAA' }),
  },
];

const lookups: readonly ErrorRow[] = [
  {
    ...invalid('an update that does not exist', 'UPDATE_NOT_FOUND', 11, 5),
    facts: wire('UPDATE_NOT_FOUND', 11, 5, { resources: 'OFFSET' }),
    http: posted('/v2/updates/update-by-offset', { offset: 999, updateFormat: updateFormat() }),
  },
  {
    ...invalid('events of a contract that does not exist', 'CONTRACT_EVENTS_NOT_FOUND', 11, 5),
    http: posted('/v2/events/events-by-contract-id', {
      contractId: '00aa',
      eventFormat: { filtersByParty: {}, filtersForAnyParty: {} },
    }),
  },
  {
    ...invalid('a contract that does not exist', 'CONTRACT_PAYLOAD_NOT_FOUND', 11, 5),
    http: posted('/v2/contracts/contract-by-id', { contractId: '00aa', queryingParties: [] }),
  },
];

const limits: readonly ErrorRow[] = [
  {
    says: 'a list longer than the node limit',
    code: 'LEDGER_REQUEST_INVALID',
    facts: wire('JSON_API_MAXIMUM_LIST_ELEMENTS_NUMBER_REACHED', 2, 10),
    httpStatus: 413,
    sandbox: { limits: { listElements: 5 } },
    http: posted('/v2/updates', updatesAfter(0)),
  },
  {
    says: 'a body that is too large',
    code: 'LEDGER_REQUEST_INVALID',
    facts: { httpStatus: 413 },
    message: /HTTP 413: /,
    sandbox: { limits: { bodyBytes: 100 } },
    http: posted('/v2/updates', updatesAfter(0, { padding: 'x'.repeat(200) })),
  },
  {
    says: 'a body that is not JSON',
    code: 'LEDGER_REQUEST_INVALID',
    facts: { httpStatus: 400 },
    message: /HTTP 400: Invalid value for: body/,
    http: ({ client }) => errorOf(client.transport.request('POST', '/v2/updates', Buffer.from('{nonsense'))),
  },
  {
    says: 'a first frame that is not a request',
    code: 'LEDGER_INTERNAL',
    facts: { ledgerCode: 'LEDGER_API_INTERNAL_ERROR', category: 4, grpcCode: 13 },
    ws: streamed('/v2/updates', []),
  },
  {
    says: 'a response timeout of the node',
    code: 'LEDGER_UNAVAILABLE',
    facts: { httpStatus: 503 },
    message: /HTTP 503: The server was not able to produce a timely response/,
    sandbox: { limits: { requestTimeoutMs: 20, listWaitMs: 2_000 } },
    http: posted('/v2/updates', updatesAfter(0)),
  },
];

const addresses: readonly ErrorRow[] = [
  {
    says: 'a path prefix that the participant does not serve',
    code: 'LEDGER_NOT_A_LEDGER',
    facts: { httpStatus: 404 },
    message: /no such endpoint \(HTTP 404\)/,
    remedy: /path prefix/,
    http: ({ url }) => errorOf(clientOf(`${url}/prefix`, undefined).state.ledgerEnd()),
    ws: (stage) => streamed('/v2/updates', updatesAfter(0))({ ...stage, url: `${stage.url}/prefix` }),
  },
  {
    says: 'an endpoint of another release',
    code: 'LEDGER_NOT_A_LEDGER',
    facts: { httpStatus: 404 },
    remedy: /release/,
    sandbox: { release: '3.7' },
    http: posted('/v2/updates/trees', updatesAfter(0)),
    ws: streamed('/v2/updates/trees', updatesAfter(0)),
  },
  {
    says: 'an endpoint that the release has disabled',
    code: 'LEDGER_API_DISABLED',
    facts: { ledgerCode: 'DEPRECATED_API_DISABLED' },
    remedy: /enable-deprecated-endpoints-34/,
    sandbox: { release: '3.6' },
    http: posted('/v2/updates/trees', updatesAfter(0)),
    ws: streamed('/v2/updates/trees', updatesAfter(0)),
  },
  {
    says: 'fields that the release has disabled',
    code: 'LEDGER_API_DISABLED',
    facts: { ledgerCode: 'DEPRECATED_API_DISABLED', traceId: /^[0-9a-f]+$/ },
    message: /fields filter\/verbose of the \/v2\/state\/active-contracts requests/,
    sandbox: { release: '3.6' },
    ...contractsRefused({ activeAtOffset: 1, filter: { filtersByParty: {}, filtersForAnyParty: {} } }),
  },
];

export const naturalRows: readonly ErrorRow[] = [
  ...pruning,
  ...requests,
  ...names,
  ...tokens,
  ...lookups,
  ...limits,
  ...addresses,
];
