/** Which of many failures of one kind are worth a line: the first, then those after pauses that double. */

const firstPauseMs = 1_000;
const longestPauseMs = 600_000;

interface Repetition {
  readonly atMs: number;
  /** Until the next one is worth a line. */
  readonly pauseMs: number;
  /** Those since then. */
  suppressed: number;
}

export class Doubling {
  readonly #told = new Map<string, Repetition>();

  /** How many of the kind were passed over since its last line; undefined when this one is as well. */
  due(kind: string, nowMs: number): number | undefined {
    const last = this.#told.get(kind);
    if (last !== undefined && nowMs - last.atMs < last.pauseMs) {
      last.suppressed += 1;
      return undefined;
    }
    const pauseMs = last === undefined ? firstPauseMs : Math.min(longestPauseMs, 2 * last.pauseMs);
    this.#told.set(kind, { atMs: nowMs, pauseMs, suppressed: 0 });
    return last?.suppressed ?? 0;
  }

  /** What failed works: the next failure is news. */
  clear(): void {
    this.#told.clear();
  }
}
