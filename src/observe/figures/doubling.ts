/**
 * Limits log lines for repeated failures of one kind. The first failure is logged. Later failures are logged after
 * pauses whose length doubles.
 */

const firstPauseMs = 1_000;
const longestPauseMs = 600_000;

interface RepeatState {
  readonly atMs: number;
  /** Time from the last line until the next failure is logged. */
  readonly pauseMs: number;
  /** Number of failures that were not logged since the last line. */
  suppressed: number;
}

export class RepeatThrottle {
  readonly #repetitions = new Map<string, RepeatState>();

  /** Number of suppressed failures of this kind since its last line; undefined if this failure is suppressed too. */
  due(kind: string, nowMs: number): number | undefined {
    const last = this.#repetitions.get(kind);
    if (last !== undefined && nowMs - last.atMs < last.pauseMs) {
      last.suppressed += 1;
      return undefined;
    }
    const pauseMs = last === undefined ? firstPauseMs : Math.min(longestPauseMs, 2 * last.pauseMs);
    this.#repetitions.set(kind, { atMs: nowMs, pauseMs, suppressed: 0 });
    return last?.suppressed ?? 0;
  }

  /** Called after a success. The next failure is then logged immediately. */
  clear(): void {
    this.#repetitions.clear();
  }
}
