/** Events per second by template, over the last ten seconds. Bounded: templates that rest longest give their place up. */
import { RateWindow } from './rate-window.ts';

const places = 500;

export class TemplateRates {
  /** The template that was busy last comes last. */
  readonly #rates = new Map<string, RateWindow>();

  /** @param nowMs monotonic */
  add(nowMs: number, template: string, events: number): void {
    const rate = this.#rates.get(template) ?? new RateWindow();
    this.#rates.delete(template);
    rate.add(nowMs, events);
    this.#rates.set(template, rate);
    for (const resting of this.#rates.keys()) {
      if (this.#rates.size <= places) break;
      this.#rates.delete(resting);
    }
  }

  /** 0 for one that was never seen. */
  perSecond(nowMs: number, template: string): number {
    return this.#rates.get(template)?.perSecond(nowMs) ?? 0;
  }
}
