/** What the catalogue says of each code of an error. */
import type { ExitCode } from './exit-code.ts';

/**
 * What the pipeline may do about an error.
 * - `retry`: reconnect after a jittered delay, from the checkpoint in the database
 * - `refresh-token`: the same, with the token read again first
 * - `fenced`: another writer moved the checkpoint; forget everything in memory and re-acquire
 * - `park`: a human is needed; stay up, not ready, and test again slowly
 * - `fatal`: stop the process
 */
export type RetryClass = 'retry' | 'refresh-token' | 'fenced' | 'park' | 'fatal';

/**
 * How long a failure may heal by itself before it needs a person: so many times, or for so long in milliseconds; `named`:
 * only where it is known which update it is about.
 */
export interface Patience {
  readonly times?: number;
  readonly ms?: number;
  readonly named?: true;
}

export interface FailureKind {
  /** While indexing. */
  readonly retry: RetryClass;
  /** Of a command that it ends. */
  readonly exitCode: ExitCode;
  /** What has happened, in a few words. */
  readonly meaning: string;
  /** What to do where the place of the failure does not know better. */
  readonly remedy: string;
  /** Without it a failure that is tried again is tried for ever. */
  readonly patience?: Patience;
}

export function kind(
  retry: RetryClass,
  exitCode: ExitCode,
  meaning: string,
  remedy: string,
  patience?: Patience,
): FailureKind {
  return { retry, exitCode, meaning, remedy, ...(patience === undefined ? {} : { patience }) };
}
