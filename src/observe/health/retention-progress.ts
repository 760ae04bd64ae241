/** Progress of INDEXER_RETENTION, in the form of `/status`. */
import type { IndexerError } from '../../errors/indexer-error.ts';
import type { PruneFacts } from '../../pipeline/ports/observer.ts';
import { rounded } from '../figures/rates.ts';
import { scrub } from '../figures/scrub.ts';

export interface RetentionStatus {
  readonly running: boolean;
  /** Updates up to this offset are pruned or are currently being pruned; null if nothing was pruned yet. */
  readonly boundary: number | null;
  /** Number of rows removed by the current pass, or by the last one. */
  readonly rowsRemoved: number;
  readonly rowsPerSecond: number;
  /** The hold that prevents pruning as far as configured; null if there is none. */
  readonly heldBy: { readonly name: string; readonly offset: number; readonly since: string } | null;
  /** Time at which the last completed pass ended; null if there was none. */
  readonly finishedAt: string | null;
  /** Why the last attempt failed; null if it succeeded. */
  readonly problem: RetentionProblem | null;
}

export interface RetentionProblem {
  readonly code: string;
  readonly message: string;
  readonly remedy: string;
  /** Time of the last occurrence, ISO 8601. */
  readonly at: string;
}

export class RetentionProgress {
  #facts: PruneFacts | undefined;
  #begunAtMs = 0;
  #toldAtMs = 0;
  #finishedAt: string | null = null;
  #problem: RetentionProblem | null = null;

  /**
   * Records progress.
   * @param nowMs monotonic
   * @returns the number of rows that this pass had removed before this call, and the previous hold
   */
  note(
    facts: PruneFacts,
    nowMs: number,
    wallMs: number,
  ): { readonly rows: number; readonly heldBy: string | undefined } {
    const before = this.#facts;
    const isNew = before === undefined || before.finished || facts.rows < before.rows;
    if (isNew) this.#begunAtMs = nowMs;
    this.#facts = facts;
    this.#toldAtMs = nowMs;
    this.#problem = null;
    if (facts.finished) this.#finishedAt = new Date(wallMs).toISOString();
    return { rows: isNew ? 0 : before.rows, heldBy: before?.heldBy?.name };
  }

  failed({ code, message, remedy }: IndexerError, wallMs: number): void {
    this.#problem = { code, message: scrub(message), remedy: scrub(remedy), at: new Date(wallMs).toISOString() };
  }

  status(): RetentionStatus | null {
    if (this.#facts === undefined && this.#problem === null) return null;
    const { boundary = null, rows = 0, finished: isFinished = true, heldBy: blockingHold = null } = this.#facts ?? {};
    const seconds = (this.#toldAtMs - this.#begunAtMs) / 1000;
    return {
      running: !isFinished && this.#problem === null,
      boundary,
      rowsRemoved: rows,
      rowsPerSecond: seconds > 0 ? rounded(rows / seconds) : 0,
      heldBy: blockingHold && {
        name: blockingHold.name,
        offset: blockingHold.offset,
        since: blockingHold.since.toISOString(),
      },
      finishedAt: this.#finishedAt,
      problem: this.#problem,
    };
  }
}
