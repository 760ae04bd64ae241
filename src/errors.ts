/**
 * The one error type of the program. Every edge (ledger, Postgres, configuration) translates what it meets into an
 * IndexerError once; everything above decides by `retry` and `code` alone and never looks at SQLSTATEs or close codes.
 */

/**
 * What the pipeline may do about an error.
 * - `retry`: reconnect after a jittered delay, from the checkpoint in the database
 * - `refresh-token`: the same, with the token read again first
 * - `fenced`: another writer moved the checkpoint; forget everything in memory and re-acquire
 * - `park`: a human is needed; stay up, not ready, and test again slowly
 * - `fatal`: stop the process
 */
export type RetryClass = 'retry' | 'refresh-token' | 'fenced' | 'park' | 'fatal';

/** Process exit codes (sysexits range, so that a supervisor can tell "restart" from "do not restart"). */
export const ExitCode = {
  stopped: 0,
  /** `verify` found a difference, or `check` a failure. */
  different: 1,
  usage: 2,
  /** `verify` could not decide. */
  undecided: 2,
  undecodable: 65,
  unreachable: 69,
  unexpected: 70,
  temporary: 75,
  notPermitted: 77,
  configuration: 78,
} as const;
export type ExitCode = (typeof ExitCode)[keyof typeof ExitCode];

export interface IndexerErrorOptions {
  /** Stable, upper-case, e.g. `LEDGER_UNREACHABLE`, `CONFIGURATION_INVALID`, `SCHEMA_NEWER`. */
  readonly code: string;
  readonly retry: RetryClass;
  /** What the operator should do, one sentence. */
  readonly remedy?: string;
  readonly exitCode?: ExitCode;
  readonly cause?: unknown;
  /** Safe facts for logs (offsets, status codes, SQLSTATE). Never payloads, tokens or passwords. */
  readonly facts?: Readonly<Record<string, string | number | boolean>>;
}

export class IndexerError extends Error {
  override readonly name = 'IndexerError';
  readonly code: string;
  readonly retry: RetryClass;
  readonly remedy: string | undefined;
  readonly exitCode: ExitCode;
  readonly facts: Readonly<Record<string, string | number | boolean>>;

  constructor(message: string, options: IndexerErrorOptions) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = options.code;
    this.retry = options.retry;
    this.remedy = options.remedy;
    this.exitCode = options.exitCode ?? ExitCode.unexpected;
    this.facts = options.facts ?? {};
  }
}

/** Anything thrown, as an IndexerError: unknown failures are fatal, because retrying what is not understood hides it. */
export function toIndexerError(thrown: unknown): IndexerError {
  if (thrown instanceof IndexerError) return thrown;
  const name = thrown instanceof Error ? thrown.name : typeof thrown;
  const message = thrown instanceof Error ? thrown.message : 'a value that is not an Error was thrown';
  return new IndexerError(`unexpected ${name}: ${message}`, {
    code: 'UNEXPECTED',
    retry: 'fatal',
    remedy: 'this is a defect: please report it with the log lines before it',
    cause: thrown,
  });
}
