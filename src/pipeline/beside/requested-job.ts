/** A background job that an operator requests in table `jobs`: polls for the request, and retries what fails. */
import { pause } from '../../config/pause.ts';
import { toIndexerError, type IndexerError } from '../../errors/indexer-error.ts';
import type { PipelineParts } from '../ports/parts.ts';
import type { Sink } from '../ports/sink.ts';
import { retryAfterMs } from '../retry/retry.ts';

/** After a failure that an operator has to end. */
const parkedDelayMs = 600_000;

interface Failure {
  readonly state?: 'failed';
  readonly perSecond: null;
  readonly problem: string;
}

/** One for the life of the process: after a failure it waits, whatever session it is. */
export class RequestedJob {
  /** What trying again does not change: whoever asked has to look at it, and may ask again. */
  readonly #ends: ReadonlySet<string>;
  readonly #note: (sink: Sink, failure: Failure) => Promise<unknown>;
  /** Monotonic, milliseconds. */
  #notBefore = 0;

  constructor(ends: readonly string[], note: (sink: Sink, failure: Failure) => Promise<unknown>) {
    this.#ends = new Set(ends);
    this.#note = note;
  }

  /** Looks until there is something the session has to end for; undefined when it was stopped. Never fails. */
  async until<T>(parts: PipelineParts, stop: AbortSignal, look: () => Promise<T | undefined>): Promise<T | undefined> {
    await pause(Math.max(0, this.#notBefore - performance.now()), stop);
    while (!stop.aborted) {
      try {
        const found = await look();
        if (found !== undefined) return found;
        this.#notBefore = performance.now() + parts.pace.commandsMs;
      } catch (thrown) {
        if (!stop.aborted) await this.failed(parts, toIndexerError(thrown));
      }
      await pause(this.#notBefore - performance.now(), stop);
    }
    return undefined;
  }

  /** Tells of a failure and puts it into the database, where whoever asked looks for it. Never fails. */
  async failed({ observers, tokenSource, limits, pace, sink }: PipelineParts, error: IndexerError): Promise<void> {
    if (error.retry === 'refresh-token') tokenSource.invalidate();
    const isFinal = this.#ends.has(error.code);
    const ownMs = error.retry === 'park' || error.retry === 'fatal' ? parkedDelayMs : limits.retryMaxDelayMs;
    const delayMs = Math.max(isFinal ? pace.commandsMs : ownMs, retryAfterMs(error));
    this.#notBefore = performance.now() + delayMs;
    observers.filterExtension.changed({ kind: 'late', error, delayMs: isFinal ? undefined : delayMs });
    const problem = `${error.code}: ${error.message}${isFinal ? `; ${error.remedy}` : ''}`;
    try {
      await this.#note(sink, { ...(isFinal ? { state: 'failed' } : {}), perSecond: null, problem });
    } catch {
      // It is told in the log as well: where the database is what fails, it cannot be noted there.
    }
  }
}
