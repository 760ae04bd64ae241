/** Decides when a bounded run stops retrying, because its caller waits for the exit code. */
import { IndexerError, withContext } from '../../errors/indexer-error.ts';
import { holderText, type LockHolder } from '../../model/stream.ts';
import type { PipelineParts } from '../ports/parts.ts';

/** Milliseconds. If an attempt lasted longer than this, it was working, because a request fails in less time. */
const resetAfterMs = 60_000;

/** Measures how long attempts have failed without anything being stored. */
export class RetryLimits {
  readonly #limitMs: number;
  readonly #now: () => number;
  #since: number | undefined;
  #nextAt = 0;

  /** If the run has no end, the limit is never reached. */
  constructor({ stopAt, limits }: Pick<PipelineParts, 'stopAt' | 'limits'>, now = () => performance.now()) {
    this.#limitMs = stopAt === undefined ? Number.POSITIVE_INFINITY : limits.progressTimeoutMs;
    this.#now = now;
  }

  /** Called when something was stored. */
  renew(): void {
    this.#since = undefined;
  }

  /** The error to end with if the next attempt would be too late. Undefined if the run continues to retry. */
  exhausted(error: IndexerError, delayMs: number): IndexerError | undefined {
    const now = this.#now();
    if (this.#since === undefined || now - this.#nextAt > resetAfterMs) this.#since = now;
    this.#nextAt = now + delayMs;
    if (this.#nextAt - this.#since <= this.#limitMs) return undefined;
    return withContext(error, { message: `${error.message}; timed out, ${timeoutText(this.#limitMs)}` });
  }

  /** Whether a wait that began at `since` has taken too long. */
  isOver(since: number): boolean {
    return this.#now() - since > this.#limitMs;
  }

  /** The error to end with when another process has held the writer lock for too long. */
  heldByOther(holder: LockHolder | undefined): IndexerError {
    const holderNote = holder === undefined ? '' : `: ${holderText(holder)}`;
    return new IndexerError(
      `another process holds the writer lock${holderNote}; timed out, ${timeoutText(this.#limitMs)}`,
      {
        code: 'WRITER_ACTIVE',
        remedy: 'stop the other indexer of this schema, or give this run a POSTGRES_SCHEMA of its own',
      },
    );
  }
}

function timeoutText(limitMs: number): string {
  return `nothing was stored for ${String(Math.round(limitMs / 1_000))} s (INDEXER_PROGRESS_TIMEOUT)`;
}
