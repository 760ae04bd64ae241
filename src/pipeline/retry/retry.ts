/** Decides what to do after an error, as a pure function. */
import { catalogue, type ErrorCode } from '../../errors/catalogue.ts';
import type { IndexerError } from '../../errors/indexer-error.ts';
import { isNamed } from './isolate-failing-update.ts';

export type Decision =
  | { readonly kind: 'again'; readonly delayMs: number; readonly phase: 'backing_off' | 'catching_up' | 'parked' }
  | { readonly kind: 'give-up' };

const firstDelayMs = 100;
/** A parked stream is tried again at this interval, so that no restart is needed after the operator's fix. */
const parkedDelayMs = 60_000;
/**
 * Delays after failures that an operator has to fix and that frequent attempts would make worse: servers lock out
 * clients that try too often.
 */
const slowRetryMs: Readonly<Partial<Record<ErrorCode, number>>> = {
  STORE_FULL: 30_000,
  STORE_PASSWORD_REFUSED: 10_000,
};
const maxTokenRefreshes = 2;
/**
 * Longest delay while no server listens. An attempt is cheap in that case, and a short delay means that a participant
 * that is available again is followed soon.
 */
const maxAbsentDelayMs = 2_000;
/** Maximum delay for a Retry-After. A longer Retry-After is more often a mistake than intended. */
const retryAfterMaxMs = 300_000;
/**
 * Errors after which the ledger requires an immediate reconnect, and the loss of a Citus worker, which a standby may
 * have replaced.
 */
const immediateCodes: ReadonlySet<ErrorCode> = new Set([
  'LEDGER_STALE_AUTHORIZATION',
  'LEDGER_TOKEN_EXPIRED',
  'STORE_WORKER_LOST',
]);

/** Failures since something was last committed, including the current one. */
export interface FailureStreak {
  readonly failures: number;
  /** Number of consecutive failures with the code of the current one, up to it. */
  readonly repeated: number;
  /** Time since the first of these, milliseconds. */
  readonly lastingMs: number;
}

/** Counts failures. @param now monotonic clock, milliseconds */
export class FailureCount {
  readonly #now: () => number;
  #failures = 0;
  #refusals = 0;
  #absences = 0;
  #repeated = 0;
  #code: string | undefined;
  #since = 0;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Adds a failure. */
  add(error: IndexerError): FailureStreak {
    const { code, retry } = error;
    // Failures to connect are counted separately. If the first response after a long absence of the server is an error,
    // it must count as the first failure.
    const isAbsentLedger = isAbsent(error);
    if (isAbsentLedger) this.#absences += 1;
    else this.#failures += 1;
    if (retry === 'refresh-token') this.#refusals += 1;
    if (code !== this.#code) {
      this.#code = code;
      this.#repeated = 0;
      this.#since = this.#now();
    }
    this.#repeated += 1;
    // Failures of other kinds do not concern the token: two new tokens are tried before the stream parks.
    const counter = isAbsentLedger ? this.#absences : this.#failures;
    const failures = retry === 'refresh-token' ? this.#refusals : counter;
    return { failures, repeated: this.#repeated, lastingMs: this.#now() - this.#since };
  }

  /** Called when something was stored. Earlier failures no longer count. */
  clear(): void {
    this.#failures = 0;
    this.#refusals = 0;
    this.#absences = 0;
    this.#code = undefined;
  }
}

/** @param random uniform in [0, 1) */
export function decide(
  error: IndexerError,
  failureStreak: FailureStreak,
  maxDelayMs: number,
  random: number,
): Decision {
  const { failures } = failureStreak;
  if (error.retry === 'fatal') return { kind: 'give-up' };
  const isTokenRefused = error.retry === 'refresh-token' && failures > maxTokenRefreshes;
  if (error.retry === 'park' || isTokenRefused || exceedsLimit(error, failureStreak)) {
    return { kind: 'again', delayMs: parkedDelayMs, phase: 'parked' };
  }
  if (error.code === 'UPDATE_QUARANTINED') return { kind: 'again', delayMs: 0, phase: 'catching_up' };
  if (immediateCodes.has(error.code) && failures === 1) return { kind: 'again', delayMs: 0, phase: 'backing_off' };
  const delayMs = slowRetryMs[error.code];
  if (delayMs !== undefined) return { kind: 'again', delayMs, phase: 'backing_off' };
  const maxBackoffMs = isAbsent(error) ? Math.min(maxDelayMs, maxAbsentDelayMs) : maxDelayMs;
  const baseDelayMs = backoffMs(failures, maxBackoffMs, random);
  // A random jitter is added, because all rejected clients received the same delay.
  const requestedMs = retryAfterMs(error) * (1 + random / 10);
  return { kind: 'again', delayMs: Math.round(Math.max(baseDelayMs, requestedMs)), phase: 'backing_off' };
}

/** Whether nothing listens, or the proxy reports that nothing listens behind it (HTTP 502). */
function isAbsent({ code, facts }: IndexerError): boolean {
  return code === 'LEDGER_UNREACHABLE' || (code === 'LEDGER_UNAVAILABLE' && facts['httpStatus'] === 502);
}

/** The delay that the ledger, or a proxy in front of it, requested, in milliseconds; 0 if it requested none. */
export function retryAfterMs({ facts }: IndexerError): number {
  const seconds = facts['retryAfterSeconds'];
  return typeof seconds === 'number' ? Math.min(1000 * seconds, retryAfterMaxMs) : 0;
}

function exceedsLimit(error: IndexerError, { repeated, lastingMs: streakMs }: FailureStreak): boolean {
  const {
    times: maxTimes = Number.POSITIVE_INFINITY,
    ms = Number.POSITIVE_INFINITY,
    named,
  } = catalogue[error.code].retryLimit ?? {};
  if (error.retry !== 'retry' || (named === true && !isNamed(error))) return false;
  return repeated > maxTimes || streakMs > ms;
}

/**
 * Exponential backoff with full jitter. If one restart disconnected many indexers, they must not reconnect at the same
 * moment.
 */
function backoffMs(failures: number, maxDelayMs: number, random: number): number {
  return random * Math.min(maxDelayMs, firstDelayMs * 2 ** Math.min(failures, 20));
}
