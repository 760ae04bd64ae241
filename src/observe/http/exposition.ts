/**
 * Renders the metrics as text. All requests within an interval share one rendering, because a rendering takes
 * milliseconds and 60 KB.
 */
import type { Registry } from 'prom-client';

export class Exposition {
  readonly #registry: Pick<Registry, 'contentType' | 'metrics'>;
  readonly #sharedMs: number;
  #rendering: Promise<Buffer> | undefined;

  /** @param sharedMs lifetime of one rendering, milliseconds */
  constructor(registry: Pick<Registry, 'contentType' | 'metrics'>, sharedMs: number) {
    this.#registry = registry;
    this.#sharedMs = sharedMs;
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  /** Returns the newest rendering. All requests get the same bytes without a copy. */
  now(): Promise<Buffer> {
    if (this.#rendering === undefined) {
      this.#rendering = this.#registry.metrics().then((text) => Buffer.from(text));
      setTimeout(() => (this.#rendering = undefined), this.#sharedMs).unref();
    }
    return this.#rendering;
  }
}
