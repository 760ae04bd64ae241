/** A background job that an operator requests in table `jobs`: polls for the request, and retries failures. */
import { pause } from '../../config/pause.ts';
import { toIndexerError, type IndexerError } from '../../errors/indexer-error.ts';
import type { PipelineParts } from '../ports/parts.ts';
import type { Sink } from '../ports/sink.ts';
import { retryAfterMs } from '../retry/retry.ts';

/** Delay after a failure that only an operator can fix. */
const parkedDelayMs = 600_000;

interface Failure {
  readonly state?: 'failed';
  readonly perSecond: null;
  readonly problem: string;
}

/**
 * There is one instance for the lifetime of the process, because the delay after a failure must outlast the session.
 */
export class RequestedJob {
  /**
   * Codes of failures that a retry does not fix. The operator has to investigate them and can then request the job
   * again.
   */
  readonly #ends: ReadonlySet<string>;
  readonly #note: (sink: Sink, failure: Failure) => Promise<unknown>;
  /** Time of the next attempt, on the monotonic clock, in milliseconds. */
  #notBefore = 0;

  constructor(endingCodes: readonly string[], recordFailure: (sink: Sink, failure: Failure) => Promise<unknown>) {
    this.#ends = new Set(endingCodes);
    this.#note = recordFailure;
  }

  /** Calls `checkOnce` repeatedly until it returns a result. Resolves to undefined when stopped. Never fails. */
  async until<T>(
    parts: PipelineParts,
    stop: AbortSignal,
    checkOnce: () => Promise<T | undefined>,
  ): Promise<T | undefined> {
    await pause(Math.max(0, this.#notBefore - performance.now()), stop);
    while (!stop.aborted) {
      try {
        const checkResult = await checkOnce();
        if (checkResult !== undefined) return checkResult;
        this.#notBefore = performance.now() + parts.pace.commandsMs;
      } catch (thrown) {
        if (!stop.aborted) await this.failed(parts, toIndexerError(thrown));
      }
      await pause(this.#notBefore - performance.now(), stop);
    }
    return undefined;
  }

  /** Reports a failure and stores it in the database, so that the operator can find it there. Never fails. */
  async failed({ observers, tokenSource, limits, pace, sink }: PipelineParts, error: IndexerError): Promise<void> {
    if (error.retry === 'refresh-token') tokenSource.invalidate();
    const isFinal = this.#ends.has(error.code);
    const baseDelayMs = error.retry === 'park' || error.retry === 'fatal' ? parkedDelayMs : limits.retryMaxDelayMs;
    const delayMs = Math.max(isFinal ? pace.commandsMs : baseDelayMs, retryAfterMs(error));
    this.#notBefore = performance.now() + delayMs;
    observers.filterExtension.changed({ kind: 'late', error, delayMs: isFinal ? undefined : delayMs });
    const problem = `${error.code}: ${error.message}${isFinal ? `; ${error.remedy}` : ''}`;
    try {
      await this.#note(sink, { ...(isFinal ? { state: 'failed' } : {}), perSecond: null, problem });
    } catch {
      // The failure was already logged. If the database itself fails, the failure cannot be stored there.
    }
  }
}
