/** Rates and means over the last ten seconds, from counts with monotonic times. Also rounds numbers for display. */

const windowSeconds = 10;

/** Counts by second. Memory is bounded: one entry per second of the window. */
export class RateWindow {
  /** Count by full second. */
  readonly #counts = new Map<number, number>();
  #firstMs: number | undefined;

  add(nowMs: number, count: number): void {
    this.#firstMs ??= nowMs;
    const currentSecond = Math.floor(nowMs / 1000);
    this.#counts.set(currentSecond, (this.#counts.get(currentSecond) ?? 0) + count);
    this.#forget(currentSecond);
  }

  /**
   * Rate per second over the window. If the first count is more recent than the start of the window, the rate is over
   * the time since that count (at least one second).
   */
  perSecond(nowMs: number): number {
    this.#forget(Math.floor(nowMs / 1000));
    let sum = 0;
    for (const count of this.#counts.values()) sum += count;
    const elapsed = (nowMs - (this.#firstMs ?? nowMs)) / 1000;
    return sum / Math.min(windowSeconds, Math.max(1, elapsed));
  }

  #forget(currentSecond: number): void {
    for (const countedSecond of this.#counts.keys()) {
      if (countedSecond <= currentSecond - windowSeconds) this.#counts.delete(countedSecond);
      else break;
    }
  }
}

/** Mean of the measured values. */
export class MeanWindow {
  readonly #sum = new RateWindow();
  readonly #count = new RateWindow();

  /** @param nowMs monotonic */
  add(nowMs: number, value: number): void {
    this.#sum.add(nowMs, value);
    this.#count.add(nowMs, 1);
  }

  /** Null if there are no measurements. */
  mean(nowMs: number): number | null {
    const count = this.#count.perSecond(nowMs);
    return count === 0 ? null : this.#sum.perSecond(nowMs) / count;
  }
}

/** Maximum number of templates. If there are more, the templates that were idle longest are dropped. */
const maxTemplates = 500;

/** Events per second by template. */
export class TemplateRates {
  /** Ordered by last activity, the most recently active template last. */
  readonly #rates = new Map<string, RateWindow>();

  /** @param nowMs monotonic */
  add(nowMs: number, template: string, events: number): void {
    const rate = this.#rates.get(template) ?? new RateWindow();
    this.#rates.delete(template);
    rate.add(nowMs, events);
    this.#rates.set(template, rate);
    for (const idleTemplate of this.#rates.keys()) {
      if (this.#rates.size <= maxTemplates) break;
      this.#rates.delete(idleTemplate);
    }
  }

  /** 0 for an unknown template. */
  perSecond(nowMs: number, template: string): number {
    return this.#rates.get(template)?.perSecond(nowMs) ?? 0;
  }
}

// Rounding for display, to the significant digits.

/** Rounds to tenths. */
export function rounded(value: number): number {
  return Math.round(value * 10) / 10;
}

/** Rounds to `1 / steps`; null stays null. */
export function roundedOrNull(value: number | null, steps: number): number | null {
  return value === null ? null : Math.round(value * steps) / steps;
}

/** A share from 0 to 1, rounded to thousandths; larger values become 1. */
export function roundShare(value: number): number {
  return Math.round(Math.min(1, value) * 1000) / 1000;
}
