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
const slowly: Readonly<Partial<Record<ErrorCode, number>>> = { STORE_FULL: 30_000, STORE_PASSWORD_REFUSED: 10_000 };
const refreshesBeforePark = 2;
/**
 * Longest delay while no server listens. An attempt is cheap in that case, and a short delay means that a participant
 * that is available again is followed soon.
 */
const absentMaxMs = 2_000;
/** Maximum delay for a Retry-After. A longer Retry-After is more often a mistake than intended. */
const retryAfterMaxMs = 300_000;
/**
 * Errors after which the ledger requires an immediate reconnect, and the loss of a Citus worker, which a standby may
 * have replaced.
 */
const atOnce: ReadonlySet<ErrorCode> = new Set([
  'LEDGER_STALE_AUTHORIZATION',
  'LEDGER_TOKEN_EXPIRED',
  'STORE_WORKER_LOST',
]);

/** Failures since something was last committed, including the current one. */
export interface Streak {
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
  add(error: IndexerError): Streak {
    const { code, retry } = error;
    // Failures to connect are counted separately. If the first response after a long absence of the server is an error,
    // it must count as the first failure.
    const absent = isAbsent(error);
    if (absent) this.#absences += 1;
    else this.#failures += 1;
    if (retry === 'refresh-token') this.#refusals += 1;
    if (code !== this.#code) {
      this.#code = code;
      this.#repeated = 0;
      this.#since = this.#now();
    }
    this.#repeated += 1;
    // Failures of other kinds do not concern the token: two new tokens are tried before the stream parks.
    const others = absent ? this.#absences : this.#failures;
    const failures = retry === 'refresh-token' ? this.#refusals : others;
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
export function decide(error: IndexerError, streak: Streak, maxDelayMs: number, random: number): Decision {
  const { failures } = streak;
  if (error.retry === 'fatal') return { kind: 'give-up' };
  const refused = error.retry === 'refresh-token' && failures > refreshesBeforePark;
  if (error.retry === 'park' || refused || outlasts(error, streak)) {
    return { kind: 'again', delayMs: parkedDelayMs, phase: 'parked' };
  }
  if (error.code === 'UPDATE_QUARANTINED') return { kind: 'again', delayMs: 0, phase: 'catching_up' };
  if (atOnce.has(error.code) && failures === 1) return { kind: 'again', delayMs: 0, phase: 'backing_off' };
  const delayMs = slowly[error.code];
  if (delayMs !== undefined) return { kind: 'again', delayMs, phase: 'backing_off' };
  const ceilingMs = isAbsent(error) ? Math.min(maxDelayMs, absentMaxMs) : maxDelayMs;
  const ownMs = backOff(failures, ceilingMs, random);
  // A random jitter is added, because all rejected clients received the same delay.
  const requestedMs = retryAfterMs(error) * (1 + random / 10);
  return { kind: 'again', delayMs: Math.round(Math.max(ownMs, requestedMs)), phase: 'backing_off' };
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

function outlasts(error: IndexerError, { repeated, lastingMs }: Streak): boolean {
  const {
    times = Number.POSITIVE_INFINITY,
    ms = Number.POSITIVE_INFINITY,
    named,
  } = catalogue[error.code].retryLimit ?? {};
  if (error.retry !== 'retry' || (named === true && !isNamed(error))) return false;
  return repeated > times || lastingMs > ms;
}

/**
 * Exponential backoff with full jitter. If one restart disconnected many indexers, they must not reconnect at the same
 * moment.
 */
function backOff(failures: number, maxDelayMs: number, random: number): number {
  return random * Math.min(maxDelayMs, firstDelayMs * 2 ** Math.min(failures, 20));
}
