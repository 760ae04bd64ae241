/**
 * The error type of the program. Each boundary (ledger, Postgres, configuration) translates a failure into an
 * IndexerError once. Code above the boundaries decides only by `retry` and `code`, and never reads SQLSTATEs or close
 * codes.
 */
import { catalogue, type CodeWithRemedy, type ErrorCode } from './catalogue.ts';
import type { ExitCode } from './exit-code.ts';
import type { RetryClass } from './failure-kind.ts';

export interface ErrorDetails {
  /** Replaces the retry class of the catalogue, for codes whose class depends on where they are thrown. */
  readonly retry?: RetryClass;
  readonly exitCode?: ExitCode;
  /** The action for the operator, as one imperative sentence. Replaces the remedy of the catalogue. */
  readonly remedy?: string;
  readonly cause?: unknown;
  /** Facts that are safe to log (offsets, status codes, SQLSTATE), never payloads, tokens or passwords. */
  readonly facts?: Readonly<Record<string, string | number | boolean>>;
}

/** The remedy is required for codes that have none in the catalogue. */
export type IndexerErrorOptions = ErrorDetails &
  ({ readonly code: CodeWithRemedy } | { readonly code: ErrorCode; readonly remedy: string });

export class IndexerError extends Error {
  override readonly name = 'IndexerError';
  readonly code: ErrorCode;
  readonly retry: RetryClass;
  readonly remedy: string;
  readonly exitCode: ExitCode;
  readonly facts: Readonly<Record<string, string | number | boolean>>;

  constructor(message: string, options: IndexerErrorOptions) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    const kind = catalogue[options.code];
    const remedy = options.remedy ?? kind.remedy;
    if (remedy === undefined) throw new TypeError(`${options.code} was thrown without a remedy`);
    this.code = options.code;
    this.retry = options.retry ?? kind.retry;
    this.remedy = remedy;
    this.exitCode = options.exitCode ?? kind.exitCode;
    this.facts = options.facts ?? {};
  }
}

/** A copy of the error with the given changes and additional facts. The original is its cause. */
export function withContext(
  error: IndexerError,
  change: Omit<ErrorDetails, 'cause'> & { readonly message?: string },
): IndexerError {
  const { message, code, retry, exitCode, remedy } = error;
  const facts = { ...error.facts, ...change.facts };
  return new IndexerError(change.message ?? message, { code, retry, exitCode, remedy, ...change, facts, cause: error });
}

/** A copy of the error with the offset of the update that caused it, for the operator. */
export function atOffset(error: IndexerError, offset: number): IndexerError {
  return withContext(error, { message: `update at offset ${String(offset)}: ${error.message}`, facts: { offset } });
}

/** Converts any thrown value to an IndexerError. Unknown failures are fatal, because a retry would hide them. */
export function toIndexerError(thrown: unknown): IndexerError {
  if (thrown instanceof IndexerError) return thrown;
  if (isCodedError(thrown)) {
    const { message, code, remedy } = thrown;
    return new IndexerError(message, { code, remedy, cause: thrown });
  }
  const name = thrown instanceof Error ? thrown.name : typeof thrown;
  const message = thrown instanceof Error ? thrown.message : 'a value that is not an Error was thrown';
  return new IndexerError(`unexpected ${name}: ${message}`, {
    code: 'UNEXPECTED',
    cause: thrown,
  });
}

/** The sandbox and the embedded Postgres are separate packages, whose error classes use codes of the catalogue. */
function isCodedError(thrown: unknown): thrown is Error & { readonly code: ErrorCode; readonly remedy: string } {
  if (!(thrown instanceof Error) || !('code' in thrown) || !('remedy' in thrown)) return false;
  return typeof thrown.code === 'string' && Object.hasOwn(catalogue, thrown.code) && typeof thrown.remedy === 'string';
}
