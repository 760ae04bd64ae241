/** A row of the error table, and the two ways in which an error reaches the client: in a response and in a stream. */
import { IndexerError } from '../../../src/errors/indexer-error.ts';
import { createLedgerClient, type LedgerClient } from '../../../src/ledger/api/client.ts';
import type { StreamPath } from '../../../src/ledger/transport/frame-stream.ts';
import { createTokenSource } from '../../../src/ledger/access/token.ts';
import { startSandbox } from '../../../packages/ledger-sandbox/src/demo/sandbox.ts';
import type { Sandbox, SandboxOptions } from '../../../packages/ledger-sandbox/src/server/sandbox.ts';
import { generateHistory } from '../../../packages/ledger-sandbox/src/demo/traffic.ts';
import { openRun } from '../../ledger/transport/stream-run.ts';

/** A participant with 20 updates, and a client. */
export interface Stage {
  readonly sandbox: Sandbox;
  /** Base URL of the client: the sandbox, unless a row changes it. */
  readonly url: string;
  readonly token: string | undefined;
  readonly client: LedgerClient;
}

/** @returns the error of the client; fails if there is none */
export type ErrorSource = (errorStage: Stage) => Promise<IndexerError>;

/** Expected facts of an error: a value, or a pattern that its text must match. */
export type ExpectedFacts = Readonly<Record<string, unknown>>;

export interface ErrorRow {
  readonly says: string;
  /** Error code of the client. It determines retry class and exit code. */
  readonly code: string;
  /** Whether the handshake of a stream is retried regardless of the code. */
  readonly isRetriedStream?: true;
  /** Facts that the error must have, over HTTP and in a stream. */
  readonly facts?: ExpectedFacts;
  /** Status of the HTTP response; streams have none. */
  readonly httpStatus?: number;
  readonly remedy?: RegExp;
  readonly message?: RegExp;
  readonly sandbox?: SandboxOptions;
  readonly token?: () => Promise<string>;
  readonly http?: ErrorSource;
  readonly ws?: ErrorSource;
}

export interface StageOptions {
  readonly sandbox?: SandboxOptions | undefined;
  readonly token?: string | undefined;
}

/** Runs `act` with a new participant. */
export async function onStage<T>(options: StageOptions, whileStaged: (errorStage: Stage) => Promise<T>): Promise<T> {
  await using sandbox = await startSandbox({ seed: 3, limits: { checkpointIntervalMs: 50 }, ...options.sandbox });
  generateHistory(sandbox.ledger, { seed: 2, updates: 20 });
  const { url } = sandbox;
  return await whileStaged({ sandbox, url, token: options.token, client: clientOf(url, options.token) });
}

/** A client for the given base URL. */
export function clientOf(url: string, token: string | undefined): LedgerClient {
  const tokenSource = createTokenSource(token === undefined ? {} : { token });
  return createLedgerClient({ url, tokenSource, insecure: false, requestTimeoutMs: 5_000 });
}

/** The error of a failed call. */
export async function errorOf(call: Promise<unknown>): Promise<IndexerError> {
  const caughtError = await call.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (caughtError instanceof IndexerError) return caughtError;
  throw new Error(caughtError === undefined ? 'the call succeeded' : 'the call failed with another error', {
    cause: caughtError,
  });
}

/** Sends a POST through the transport, without the client's own checks, and returns the error. */
export function posted(path: string, body: object, query?: Readonly<Record<string, number>>): ErrorSource {
  return ({ client }) => errorOf(client.transport.request('POST', path, body, query));
}

/** Opens a stream and returns its error; undefined after a normal end. */
export function endingRequest(
  path: StreamPath,
  request: object,
): (errorStage: Stage) => Promise<IndexerError | undefined> {
  return async ({ url, token }) => {
    const run = openRun(url, { path, request, token });
    return await run.ended;
  };
}

/** Opens a stream and returns its error. */
export function streamed(path: StreamPath, request: object): ErrorSource {
  return async (errorStage) => {
    const error = await endingRequest(path, request)(errorStage);
    if (error === undefined) throw new Error('the stream ended well');
    return error;
  };
}

const eventFormat = { filtersByParty: {}, filtersForAnyParty: {}, verbose: false };

/** An update format for everything, with the given filter for any party. */
export function updateFormat(identifierFilter?: object): object {
  const cumulative = identifierFilter === undefined ? {} : { cumulative: [{ identifierFilter }] };
  const format = { ...eventFormat, filtersForAnyParty: cumulative };
  return {
    includeTransactions: { eventFormat: format, transactionShape: 'TRANSACTION_SHAPE_LEDGER_EFFECTS' },
  };
}

/** A request for the updates after an offset. */
export const updatesAfter = (beginExclusive: number, overrides: object = {}): object => ({
  beginExclusive,
  updateFormat: updateFormat(),
  ...overrides,
});

/** A request for the active contracts at an offset. */
export const activeAt = (activeAtOffset: number, overrides: object = {}): object => ({
  activeAtOffset,
  eventFormat,
  ...overrides,
});

/** Raises the same rejection of an updates request over HTTP and in a stream. */
export const updatesRefused = (request: object): Pick<ErrorRow, 'http' | 'ws'> => ({
  http: posted('/v2/updates', request),
  ws: streamed('/v2/updates', request),
});

/** Raises the same rejection of an active-contracts request over HTTP and in a stream. */
export const contractsRefused = (request: object): Pick<ErrorRow, 'http' | 'ws'> => ({
  http: posted('/v2/state/active-contracts', request),
  ws: streamed('/v2/state/active-contracts', request),
});

/** The facts of every error that the participant itself sends. */
export const wire = (
  ledgerCode: string,
  category: number,
  grpcCode: number,
  overrides: object = {},
): ExpectedFacts => ({
  ledgerCode,
  category,
  grpcCode,
  traceId: /^[0-9a-f]{32}$/,
  definiteAnswer: false,
  ...overrides,
});
