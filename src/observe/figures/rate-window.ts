/**
 * A rate over the last ten seconds, from counts with monotonic times. Memory is bounded: one entry for each second.
 */
const windowSeconds = 10;

export class RateWindow {
  /** Count by whole second. */
  readonly #counts = new Map<number, number>();
  #firstMs: number | undefined;

  add(nowMs: number, count: number): void {
    this.#firstMs ??= nowMs;
    const second = Math.floor(nowMs / 1000);
    this.#counts.set(second, (this.#counts.get(second) ?? 0) + count);
    this.#forget(second);
  }

  /** Per second over the window, or over the time since the first count when that is shorter (at least one second). */
  perSecond(nowMs: number): number {
    this.#forget(Math.floor(nowMs / 1000));
    let sum = 0;
    for (const count of this.#counts.values()) sum += count;
    const elapsed = (nowMs - (this.#firstMs ?? nowMs)) / 1000;
    return sum / Math.min(windowSeconds, Math.max(1, elapsed));
  }

  #forget(second: number): void {
    for (const known of this.#counts.keys()) {
      if (known <= second - windowSeconds) this.#counts.delete(known);
      else break;
    }
  }
}
