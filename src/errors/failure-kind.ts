/** The facts that the catalogue holds for each error code. */
import type { ExitCode } from './exit-code.ts';

/**
 * The reaction of the pipeline to an error.
 * - `retry`: reconnect after a jittered delay, from the checkpoint in the database
 * - `refresh-token`: read the token again, then reconnect in the same way
 * - `fenced`: another writer moved the checkpoint; discard all state in memory and acquire the writer lock again
 * - `park`: an operator is needed; keep running, not ready, and test again slowly
 * - `fatal`: stop the process
 */
export type RetryClass = 'retry' | 'refresh-token' | 'fenced' | 'park' | 'fatal';

/**
 * How long a failure is retried before an operator is needed: a number of times, or a time in milliseconds. With `named`, the
 * limit applies only if the update that causes the failure is known.
 */
export interface RetryLimit {
  readonly times?: number;
  readonly ms?: number;
  readonly named?: true;
}

export interface FailureKind {
  /** While indexing. */
  readonly retry: RetryClass;
  /** Of a command that fails with this code. */
  readonly exitCode: ExitCode;
  /** The failure, in a few words. */
  readonly meaning: string;
  /** The action of the operator. An error may carry a more specific remedy; without a remedy here, it has to. */
  readonly remedy?: string;
  /** Without it, a failure that is retried is retried forever. */
  readonly retryLimit?: RetryLimit;
}

export function kind(
  retry: RetryClass,
  exitCode: ExitCode,
  meaning: string,
  remedy: string,
  retryLimit?: RetryLimit,
): FailureKind & { readonly remedy: string } {
  return { retry, exitCode, meaning, remedy, ...(retryLimit === undefined ? {} : { retryLimit }) };
}

/** A code that is thrown for several reasons, each with a remedy of its own: the remedy is required where the error is thrown. */
export function kindWithoutRemedy(
  retry: RetryClass,
  exitCode: ExitCode,
  meaning: string,
): FailureKind & { readonly remedy?: never } {
  return { retry, exitCode, meaning };
}
