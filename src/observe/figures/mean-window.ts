/** The mean of what was measured during the last ten seconds. */
import { RateWindow } from './rate-window.ts';

export class MeanWindow {
  readonly #sum = new RateWindow();
  readonly #count = new RateWindow();

  /** @param nowMs monotonic */
  add(nowMs: number, value: number): void {
    this.#sum.add(nowMs, value);
    this.#count.add(nowMs, 1);
  }

  /** Null when nothing was measured. */
  mean(nowMs: number): number | null {
    const count = this.#count.perSecond(nowMs);
    return count === 0 ? null : this.#sum.perSecond(nowMs) / count;
  }
}
