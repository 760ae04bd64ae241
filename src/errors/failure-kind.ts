/** The properties that the catalogue has for each error code. */
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
 * How long a failure is retried before an operator is needed: a number of attempts, or a time in milliseconds. With
 * `named`, the limit applies only if the update that causes the failure is known.
 */
export interface RetryLimit {
  readonly times?: number;
  readonly ms?: number;
  readonly named?: true;
}

export interface FailureKind {
  /** Reaction to the failure while indexing. */
  readonly retry: RetryClass;
  /** Exit code of a command that fails with this code. */
  readonly exitCode: ExitCode;
  /** The failure, as a short phrase. */
  readonly meaning: string;
  /**
   * The action for the operator. An error may have a more specific remedy; if the code has none, the error must have
   * one.
   */
  readonly remedy?: string;
  /** Without a limit, a retryable failure is retried forever. */
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

/**
 * The kind of a code that is thrown for several reasons, each with its own remedy. So the remedy is required where the
 * error is thrown.
 */
export function kindWithThrownRemedy(
  retry: RetryClass,
  exitCode: ExitCode,
  meaning: string,
): FailureKind & { readonly remedy?: never } {
  return { retry, exitCode, meaning };
}
