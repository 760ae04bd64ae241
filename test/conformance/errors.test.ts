/**
 * Raises every error of the interface in the sandbox, over HTTP and WebSocket, and checks how the client classifies it:
 * code, retry class, exit code, facts and remedy. Every entry of the client's tables must decide at least one error.
 */
import { afterAll, describe, expect, it } from 'vitest';
import { ExitCode } from '../../src/errors/exit-code.ts';
import type { RetryClass } from '../../src/errors/failure-kind.ts';
import type { IndexerError } from '../../src/errors/indexer-error.ts';
import {
  byCategory,
  byCloseCode,
  byGrpcCode,
  byHttpStatus,
  byLedgerCode,
} from '../../src/ledger/errors/ledger-error.ts';
import { updatesAfter, endingRequest, onStage, type ErrorRow } from './rows/error-row.ts';
import { accessRows } from './rows/error-rows-access.ts';
import { commandRows } from './rows/error-rows-commands.ts';
import { naturalRows } from './rows/error-rows-natural.ts';
import { scriptedRows } from './rows/error-rows-scripted.ts';

const rows: readonly ErrorRow[] = [...naturalRows, ...accessRows, ...commandRows, ...scriptedRows];

/** Expected retry class and exit code of each error, written out independently of the source. */
const classes: Readonly<Record<string, readonly [RetryClass, ExitCode]>> = {
  LEDGER_PRUNED: ['park', ExitCode.undecodable],
  LEDGER_OFFSET_AFTER_END: ['retry', ExitCode.temporary],
  LEDGER_TOKEN_EXPIRED: ['refresh-token', ExitCode.notPermitted],
  LEDGER_STALE_AUTHORIZATION: ['retry', ExitCode.temporary],
  LEDGER_FILTER_UNKNOWN: ['park', ExitCode.configuration],
  LEDGER_PACKAGE_UNKNOWN: ['park', ExitCode.undecodable],
  LEDGER_API_DISABLED: ['park', ExitCode.configuration],
  LEDGER_CONTINUATION_TOKEN_INVALID: ['retry', ExitCode.temporary],
  LEDGER_REQUEST_INVALID: ['park', ExitCode.configuration],
  LEDGER_UNAVAILABLE: ['retry', ExitCode.temporary],
  LEDGER_INTERNAL: ['retry', ExitCode.temporary],
  LEDGER_UNAUTHENTICATED: ['refresh-token', ExitCode.notPermitted],
  LEDGER_PERMISSION_DENIED: ['park', ExitCode.notPermitted],
  LEDGER_STREAM_CLOSED: ['retry', ExitCode.temporary],
  LEDGER_NOT_A_LEDGER: ['park', ExitCode.configuration],
};

/** The table entry that decided, according to the facts of the error. */
function deciderOf({ facts }: IndexerError): string {
  if (byLedgerCode.has(String(facts['ledgerCode']))) return `code ${facts['ledgerCode']}`;
  if (byCategory.has(Number(facts['category'] ?? NaN))) return `category ${facts['category']}`;
  if (byGrpcCode.has(Number(facts['grpcCode'] ?? NaN))) return `gRPC ${facts['grpcCode']}`;
  if (byHttpStatus.has(Number(facts['httpStatus'] ?? NaN))) return `HTTP ${facts['httpStatus']}`;
  return `close ${facts['closeCode']}`;
}

const entries = [
  ...[...byLedgerCode.keys()].map((code) => `code ${code}`),
  ...[...byCategory.keys()].map((category) => `category ${category}`),
  ...[...byGrpcCode.keys()].map((grpc) => `gRPC ${grpc}`),
  ...[...byHttpStatus.keys()].map((status) => `HTTP ${status}`),
  ...[...byCloseCode.keys()].map((code) => `close ${code}`),
];

function check(transport: 'http' | 'ws', row: ErrorRow, error: IndexerError): void {
  expect(error).toMatchObject({ code: row.code });
  const [retry, exitCode] = classes[row.code] ?? [];
  expect([error.retry, error.exitCode]).toEqual([
    transport === 'ws' && row.isRetriedStream === true ? 'retry' : retry,
    exitCode,
  ]);
  expect(error.remedy).toMatch(row.remedy ?? /\w{3}/);
  if (row.message !== undefined) expect(error.message).toMatch(row.message);
  for (const [name, value] of Object.entries(row.facts ?? {})) {
    if (value instanceof RegExp) expect(String(error.facts[name]), name).toMatch(value);
    else expect(error.facts[name], name).toBe(value);
  }
  expect(JSON.stringify(error.facts)).not.toContain('secret');
}

const seenCodes = { http: new Set<string>(), ws: new Set<string>() };

for (const transport of ['http', 'ws'] as const) {
  describe(transport === 'http' ? 'LedgerClient over HTTP' : 'LedgerClient over WebSocket', () => {
    for (const row of rows) {
      const provokeError = row[transport];
      if (provokeError === undefined) continue;
      it(`reports ${row.code} for ${row.says}`, async () => {
        const error = await onStage({ sandbox: row.sandbox, token: await row.token?.() }, provokeError);
        check(transport, row, error);
        if (transport === 'http' && row.httpStatus !== undefined)
          expect(error.facts['httpStatus']).toBe(row.httpStatus);
        seenCodes[transport].add(deciderOf(error));
      });
    }
  });
}

describe('ledger error tables', () => {
  it('do not classify a normal close without an error frame as an error', async () => {
    const end = await onStage({}, (errorStage) => {
      errorStage.sandbox.faults.close = { code: 1000, afterFrames: 2 };
      return endingRequest('/v2/updates', updatesAfter(0))(errorStage);
    });
    expect(end).toBeUndefined();
  });

  it('contain only entries that classify at least one tested error', () => {
    expect(entries.filter((entry) => !seenCodes.http.has(entry) && !seenCodes.ws.has(entry))).toEqual([]);
  });

  afterAll(() => {
    console.log(`conformance: ${seenCodes.http.size} error classes over HTTP, ${seenCodes.ws.size} over WebSocket`);
  });
});
