/**
 * The one error type of the program. Every edge (ledger, Postgres, configuration) translates what it meets into an
 * IndexerError once; everything above decides by `retry` and `code` alone and never looks at SQLSTATEs or close codes.
 */
import { catalogue, type ErrorCode } from './catalogue.ts';
import type { ExitCode } from './exit-code.ts';
import type { RetryClass } from './failure-kind.ts';

export interface IndexerErrorOptions {
  readonly code: ErrorCode;
  /** In place of what the catalogue says, where the place of the failure decides. */
  readonly retry?: RetryClass;
  readonly exitCode?: ExitCode;
  /** What the operator should do, one sentence, where more is known than the code says. */
  readonly remedy?: string;
  readonly cause?: unknown;
  /** Safe facts for logs (offsets, status codes, SQLSTATE). Never payloads, tokens or passwords. */
  readonly facts?: Readonly<Record<string, string | number | boolean>>;
}

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
    this.code = options.code;
    this.retry = options.retry ?? kind.retry;
    this.remedy = options.remedy ?? kind.remedy;
    this.exitCode = options.exitCode ?? kind.exitCode;
    this.facts = options.facts ?? {};
  }
}

/** The same failure told anew: in other words, with more facts, with what else is said to differ. It is the cause. */
export function retold(
  error: IndexerError,
  change: Partial<Omit<IndexerErrorOptions, 'code' | 'cause'>> & { readonly message?: string },
): IndexerError {
  const { message, code, retry, exitCode, remedy } = error;
  const facts = { ...error.facts, ...change.facts };
  return new IndexerError(change.message ?? message, { code, retry, exitCode, remedy, ...change, facts, cause: error });
}

/** The failure with the offset of the one update it is about, for the operator who has to look at it. */
export function atOffset(error: IndexerError, offset: number): IndexerError {
  return retold(error, { message: `update at offset ${String(offset)}: ${error.message}`, facts: { offset } });
}

/** Anything thrown, as an IndexerError: unknown failures are fatal, because retrying what is not understood hides it. */
export function toIndexerError(thrown: unknown): IndexerError {
  if (thrown instanceof IndexerError) return thrown;
  if (isOfPart(thrown)) {
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

/** Sandbox and embedded Postgres are packages of their own, with errors of their own, under codes of the catalogue. */
function isOfPart(thrown: unknown): thrown is Error & { readonly code: ErrorCode; readonly remedy: string } {
  if (!(thrown instanceof Error) || !('code' in thrown) || !('remedy' in thrown)) return false;
  return typeof thrown.code === 'string' && Object.hasOwn(catalogue, thrown.code) && typeof thrown.remedy === 'string';
}
