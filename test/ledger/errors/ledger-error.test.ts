import { describe, expect, it } from 'vitest';
import { errorFromBody, errorFromClose, errorFromNetwork } from '../../../src/ledger/errors/ledger-error.ts';
import { decodeLedgerError, isErrorFrame } from '../../../src/ledger/errors/ledger-error-body.ts';
import { fixture } from '../../support/wire/fixtures.ts';

function wireError(code: string, errorCategory: number, grpcCodeValue: number | null, context = {}, cause = 'why') {
  return { code, cause, correlationId: null, traceId: 'abc', context, resources: [], errorCategory, grpcCodeValue };
}

describe('ledger error', () => {
  it.each([
    ['PARTICIPANT_PRUNED_DATA_ACCESSED', 9, 9, 400, 'LEDGER_PRUNED', 'park'],
    ['OFFSET_AFTER_LEDGER_END', 12, 11, 400, 'LEDGER_OFFSET_AFTER_END', 'retry'],
    ['PARTICIPANT_DATA_ACCESSED_AFTER_LEDGER_END', 9, 9, 400, 'LEDGER_OFFSET_AFTER_END', 'retry'],
    ['OFFSET_OUT_OF_RANGE', 9, 9, 400, 'LEDGER_REQUEST_INVALID', 'park'],
    ['NEGATIVE_OFFSET', 8, 3, 400, 'LEDGER_REQUEST_INVALID', 'park'],
    ['INVALID_ARGUMENT', 8, 3, 400, 'LEDGER_REQUEST_INVALID', 'park'],
    ['PACKAGE_NAMES_NOT_FOUND', 11, 5, 404, 'LEDGER_FILTER_UNKNOWN', 'park'],
    ['NO_TEMPLATES_FOR_PACKAGE_NAME_AND_QUALIFIED_NAME', 11, 5, 404, 'LEDGER_FILTER_UNKNOWN', 'park'],
    ['NO_INTERFACE_FOR_PACKAGE_NAME_AND_QUALIFIED_NAME', 11, 5, 404, 'LEDGER_FILTER_UNKNOWN', 'park'],
    ['INVALID_CONTINUATION_TOKEN', 8, 3, 400, 'LEDGER_CONTINUATION_TOKEN_INVALID', 'retry'],
    ['INVALID_ACS_PAGE_TOKEN', 8, 3, 400, 'LEDGER_CONTINUATION_TOKEN_INVALID', 'retry'],
    ['NA', -1, 16, 401, 'LEDGER_UNAUTHENTICATED', 'refresh-token'],
    ['NA', -1, 7, 403, 'LEDGER_PERMISSION_DENIED', 'park'],
    ['NA', -1, 13, 500, 'LEDGER_INTERNAL', 'retry'],
    ['NA', -1, 14, 503, 'LEDGER_UNAVAILABLE', 'retry'],
    ['NA', -1, 12, 501, 'LEDGER_REQUEST_INVALID', 'park'],
    ['NA', -1, null, 403, 'LEDGER_PERMISSION_DENIED', 'park'],
    ['ACCESS_TOKEN_EXPIRED', 2, 10, 409, 'LEDGER_TOKEN_EXPIRED', 'refresh-token'],
    ['STALE_STREAM_AUTHORIZATION', 2, 10, 409, 'LEDGER_STALE_AUTHORIZATION', 'retry'],
    ['SERVICE_NOT_RUNNING', 1, 14, 503, 'LEDGER_UNAVAILABLE', 'retry'],
    ['THREADPOOL_OVERLOADED', 2, 10, 409, 'LEDGER_UNAVAILABLE', 'retry'],
    ['REQUEST_DEADLINE_EXCEEDED', 3, 4, 504, 'LEDGER_UNAVAILABLE', 'retry'],
    ['JSON_API_MAXIMUM_LIST_ELEMENTS_NUMBER_REACHED', 2, 10, 413, 'LEDGER_REQUEST_INVALID', 'park'],
    ['TEMPLATES_OR_INTERFACES_NOT_FOUND', 11, 5, 404, 'LEDGER_PACKAGE_UNKNOWN', 'park'],
    ['LEDGER_API_INTERNAL_ERROR', 4, 13, 500, 'LEDGER_INTERNAL', 'retry'],
    ['SOMETHING_NEW', 6, null, 401, 'LEDGER_UNAUTHENTICATED', 'refresh-token'],
    ['SOMETHING_NEW', 7, null, 403, 'LEDGER_PERMISSION_DENIED', 'park'],
    ['SOMETHING_NEW', 99, null, 599, 'LEDGER_INTERNAL', 'retry'],
  ])(
    'is classified by code %s, category %d, gRPC code %s and HTTP status %d',
    (code, category, grpc, status, expected, retry) => {
      const body = wireError(code, category, grpc);
      const error = errorFromBody(body, status);
      expect([error.code, error.retry]).toEqual([expected, retry]);
      expect(error.facts).toMatchObject({ ledgerCode: code, category, traceId: 'abc', httpStatus: status });
      expect(error.remedy).not.toBe('');
      expect(isErrorFrame(body)).toBe(true);
      // A stream has no HTTP status. The frame must yield the same code, unless only the status determines the code.
      if (grpc !== null) expect(errorFromBody(body).code).toBe(expected);
    },
  );

  it('contains the earliest offset or the ledger end that the ledger reports', () => {
    const pruned = wireError('PARTICIPANT_PRUNED_DATA_ACCESSED', 9, 9, { earliest_offset: '200' });
    expect(errorFromBody(pruned, 400).facts['earliestOffset']).toBe(200);
    const after = wireError('OFFSET_AFTER_LEDGER_END', 12, 11, {}, 'Begin offset (9) is after ledger end (7)');
    expect(errorFromBody(after, 400).facts['latestOffset']).toBe(7);
    const latest = wireError('PARTICIPANT_DATA_ACCESSED_AFTER_LEDGER_END', 9, 9, { latest_offset: '12' });
    expect(errorFromBody(latest, 400).facts['latestOffset']).toBe(12);
  });

  it.each([
    [400, 'Invalid value for: body (…)', 'LEDGER_REQUEST_INVALID'],
    [401, '', 'LEDGER_UNAUTHENTICATED'],
    [403, '<html>Forbidden</html>', 'LEDGER_PERMISSION_DENIED'],
    [404, { errors: ['HttpMethod(GET), uri: /v3'], status: 404 }, 'LEDGER_NOT_A_LEDGER'],
    [404, '<html>nginx</html>', 'LEDGER_NOT_A_LEDGER'],
    [302, '', 'LEDGER_NOT_A_LEDGER'],
    [421, '<html>Misdirected</html>', 'LEDGER_UNAVAILABLE'],
    [425, '', 'LEDGER_UNAVAILABLE'],
    [429, 'slow down', 'LEDGER_UNAVAILABLE'],
    [502, '<html>Bad Gateway</html>', 'LEDGER_UNAVAILABLE'],
    [503, 'The server was not able to produce a timely response', 'LEDGER_UNAVAILABLE'],
    [504, '', 'LEDGER_UNAVAILABLE'],
    [500, '', 'LEDGER_INTERNAL'],
  ])('is classified by HTTP %d if the body is not a ledger error', (status, body, expected) => {
    const error = errorFromBody(body, status);
    expect(error.code).toBe(expected);
    expect(error.message).not.toContain('<html>');
  });

  it('is LEDGER_API_DISABLED if the code is DEPRECATED_API_DISABLED, for any HTTP status', () => {
    const body = JSON.parse(fixture('samples/refusals/deprecated-api-disabled.json')) as unknown;
    expect(isErrorFrame(body)).toBe(true);
    for (const status of [400, undefined]) {
      const error = errorFromBody(body, status);
      expect([error.code, error.retry]).toEqual(['LEDGER_API_DISABLED', 'park']);
      expect(error.message).toContain('The fields filter/verbose of the /v2/state/active-contracts requests');
      expect(error.facts).toMatchObject({ ledgerCode: 'DEPRECATED_API_DISABLED', traceId: '53bc7da6f755bd6246307e' });
    }
  });

  it.each([
    [1000, 'LEDGER_STREAM_CLOSED', 'retry'],
    [1001, 'LEDGER_STREAM_CLOSED', 'retry'],
    [1005, 'LEDGER_STREAM_CLOSED', 'retry'],
    [1006, 'LEDGER_STREAM_CLOSED', 'retry'],
    [1011, 'LEDGER_STREAM_CLOSED', 'retry'],
    [1008, 'LEDGER_UNAUTHENTICATED', 'refresh-token'],
    [1009, 'LEDGER_REQUEST_INVALID', 'park'],
  ])('is classified by the close code %d', (code, expected, retry) => {
    const error = errorFromClose(code, 'because');
    expect([error.code, error.retry, error.facts['closeCode']]).toEqual([expected, retry, code]);
  });

  it.each([
    ['ECONNREFUSED', 'LEDGER_UNREACHABLE'],
    ['ENOTFOUND', 'LEDGER_UNREACHABLE'],
    ['ECONNRESET', 'LEDGER_UNREACHABLE'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'LEDGER_TLS'],
    ['CERT_HAS_EXPIRED', 'LEDGER_TLS'],
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'LEDGER_TLS'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'LEDGER_TLS'],
    ['EPROTO', 'LEDGER_TLS'],
    ['INVALID_PURPOSE', 'LEDGER_TLS'],
    ['INVALID_CA', 'LEDGER_TLS'],
    ['PATH_LENGTH_EXCEEDED', 'LEDGER_TLS'],
    ['HOSTNAME_MISMATCH', 'LEDGER_TLS'],
    ['HPE_INVALID_CONSTANT', 'LEDGER_NOT_A_LEDGER'],
    ['WS_ERR_INVALID_OPCODE', 'LEDGER_UNDECODABLE'],
    ['WS_ERR_UNSUPPORTED_MESSAGE_LENGTH', 'LEDGER_FRAME_TOO_LARGE'],
  ])('is classified by the network error %s, also if that error is nested', (code, expected) => {
    const inner = Object.assign(new Error('inner'), { code });
    expect(errorFromNetwork(inner, 'http://host:1/').code).toBe(expected);
    expect(errorFromNetwork(new AggregateError([inner], 'all failed'), 'http://host:1/').code).toBe(expected);
  });

  it('contains no tokens that the ledger echoes, and no credentials of the URL', () => {
    const echo = wireError('X', 8, 3, {}, 'bad header Authorization: Bearer eyJhbGci.eyJzdWIi.c2ln\nnext');
    expect(errorFromBody(echo).message).not.toContain('eyJ');
    const error = errorFromNetwork(new Error('refused'), 'http://user:secret@host:1/');
    expect(error.message + JSON.stringify(error.facts)).not.toContain('secret');
  });

  it('is decoded with all ten fields, while other objects are not errors', () => {
    const context = { category: '9', tid: 'tid', definite_answer: 'true', number: 7 };
    const resources = [['ErrorResource(CID)', '00ab'], ['CID', '00cd'], ['broken'], 'broken'];
    const base = { code: 'X', cause: 'Y', correlationId: 's-1', traceId: null, context, resources };
    const body = { ...base, errorCategory: 9, grpcCodeValue: 9, retryInfo: '1 second', definiteAnswer: null };
    expect(decodeLedgerError(body)).toEqual({
      code: 'X',
      cause: 'Y',
      correlationId: 's-1',
      traceId: 'tid',
      context: { category: '9', tid: 'tid', definite_answer: 'true' },
      resources: [
        { type: 'CID', id: '00ab' },
        { type: 'CID', id: '00cd' },
      ],
      errorCategory: 9,
      grpcCodeValue: 9,
      retryInfo: '1 second',
      definiteAnswer: true,
    });
    expect(decodeLedgerError({ ...body, definiteAnswer: false })?.definiteAnswer).toBe(false);
    expect(decodeLedgerError({ code: 'X' })).toMatchObject({ code: 'X', context: {}, resources: [], cause: undefined });
    for (const other of [{ update: {}, code: 'X' }, { errors: [], status: 404 }, {}, 'text', null]) {
      expect(decodeLedgerError(other)).toBeUndefined();
    }
  });

  it('is recognized if it has no code, and keeps its category and gRPC code', () => {
    const body = { code: null, cause: 'stopped', errorCategory: -1, grpcCodeValue: 14 };
    expect(isErrorFrame(body)).toBe(true);
    expect(errorFromBody(body)).toMatchObject({ code: 'LEDGER_UNAVAILABLE', facts: { category: -1, grpcCode: 14 } });
  });

  it('contains facts and the trace id, but no contract data', () => {
    const context = { commands: 'secret', exercise_trace: 'secret', definite_answer: 'false' };
    const resources = ['CID', 'CONTRACT_KEY', 'USER', 'PACKAGE'].map((type) => [
      type,
      type === 'CID' ? '00' : 'secret',
    ]);
    const body = { ...wireError('DUPLICATE_COMMAND', 10, 6, context), correlationId: 'sub', resources };
    const error = errorFromBody({ ...body, resources: resources.slice(0, 2) }, 409);
    expect(error.facts).toEqual({
      ledgerCode: 'DUPLICATE_COMMAND',
      category: 10,
      grpcCode: 6,
      traceId: 'abc',
      correlationId: 'sub',
      httpStatus: 409,
      definiteAnswer: false,
      resources: 'CID 00, CONTRACT_KEY',
    });
    expect(error.message).toBe('the ledger returned DUPLICATE_COMMAND: why (trace id abc)');
    expect(errorFromBody(body).facts['resources']).toMatch(/, 1 more$/);
  });

  it('has a remedy for a wrong path and for an unknown user', () => {
    const path = errorFromBody(
      { errors: ['HttpMethod(GET), uri: http://u:secret@h/v2?token=secret'], status: 404 },
      404,
    );
    expect(path.message).toBe('the participant has no such endpoint (HTTP 404)');
    expect(path.remedy).toMatch(/prefix.*release/u);
    const user = errorFromBody({ ...wireError('NA', -1, 7, { ledger_api_error: 'invalid token' }) }, 403);
    expect([user.code, user.remedy]).toEqual(['LEDGER_PERMISSION_DENIED', expect.stringContaining('create the user')]);
    expect(errorFromBody(wireError('NA', -1, 7), 403).remedy).toContain('CanReadAs');
  });

  it('is not detected in a data frame', () => {
    expect(isErrorFrame({ update: {}, code: 'X', cause: 'Y' })).toBe(false);
    expect(isErrorFrame({ contractEntry: {} })).toBe(false);
    expect(isErrorFrame([])).toBe(false);
    expect(isErrorFrame(null)).toBe(false);
  });
});
