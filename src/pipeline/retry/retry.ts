/** Maps an error to a decision, as a pure function. */
import { catalogue, type ErrorCode } from '../../errors/catalogue.ts';
import type { IndexerError } from '../../errors/indexer-error.ts';
import { isNamed } from './isolate-failing-update.ts';

export type Decision =
  | { readonly kind: 'again'; readonly delayMs: number; readonly phase: 'backing_off' | 'catching_up' | 'parked' }
  | { readonly kind: 'give-up' };

const firstDelayMs = 100;
/** A parked stream is tested again at this interval: the operator's fix must not need a restart. */
const parkedDelayMs = 60_000;
/**
 * Failures that an operator has to fix and that frequent attempts would only make worse (servers lock out clients that
 * try too often).
 */
const slowly: Readonly<Partial<Record<ErrorCode, number>>> = { STORE_FULL: 30_000, STORE_PASSWORD_REFUSED: 10_000 };
const refreshesBeforePark = 2;
/** Testing whether anything listens is cheap, and decides how soon a participant that is back is followed. */
const absentMaxMs = 2_000;
/** Maximum of a Retry-After: a longer one is more often a mistake than intended. */
const retryAfterMaxMs = 300_000;
/**
 * Errors for which the ledger itself requires an immediate reconnect; and a lost worker, whose place a standby may have
 * taken.
 */
const atOnce: ReadonlySet<ErrorCode> = new Set([
  'LEDGER_STALE_AUTHORIZATION',
  'LEDGER_TOKEN_EXPIRED',
  'STORE_WORKER_LOST',
]);

/** Failures since something was last committed, including the one in question. */
export interface Streak {
  readonly failures: number;
  /** How many of them, the newest in a row, had the code of this one. */
  readonly repeated: number;
  /** Since the first of those, milliseconds. */
  readonly lastingMs: number;
}

/** Counts failures; @param now monotonic clock, milliseconds */
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
    // However long the server was absent, the first response that follows is not the thousandth failure.
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
    // Other failures before it say nothing about the token: two new ones are tried before it parks.
    const others = absent ? this.#absences : this.#failures;
    const failures = retry === 'refresh-token' ? this.#refusals : others;
    return { failures, repeated: this.#repeated, lastingMs: this.#now() - this.#since };
  }

  /** Something was stored: earlier failures do not count any more. */
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
  // Spread, because all rejected clients received the same delay.
  const requestedMs = retryAfterMs(error) * (1 + random / 10);
  return { kind: 'again', delayMs: Math.round(Math.max(ownMs, requestedMs)), phase: 'backing_off' };
}

/** Nothing listens, or nothing behind the proxy that does (HTTP 502). */
function isAbsent({ code, facts }: IndexerError): boolean {
  return code === 'LEDGER_UNREACHABLE' || (code === 'LEDGER_UNAVAILABLE' && facts['httpStatus'] === 502);
}

/** The delay that the ledger, or a proxy in front of it, requested, milliseconds; 0 when there was none. */
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

/** Full jitter: many indexers disconnected by one restart must not come back at the same moment. */
function backOff(failures: number, maxDelayMs: number, random: number): number {
  return random * Math.min(maxDelayMs, firstDelayMs * 2 ** Math.min(failures, 20));
}
