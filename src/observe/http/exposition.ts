/** The metrics as text, rendered once in a while for all who ask meanwhile: one rendering takes milliseconds and 60 KB. */
import type { Registry } from 'prom-client';

export class Exposition {
  readonly #registry: Pick<Registry, 'contentType' | 'metrics'>;
  readonly #sharedMs: number;
  #rendering: Promise<Buffer> | undefined;

  /** @param sharedMs how long one rendering answers whoever asks, milliseconds */
  constructor(registry: Pick<Registry, 'contentType' | 'metrics'>, sharedMs: number) {
    this.#registry = registry;
    this.#sharedMs = sharedMs;
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  /** The newest rendering: the same bytes for all, which are not copied for each. */
  now(): Promise<Buffer> {
    if (this.#rendering === undefined) {
      this.#rendering = this.#registry.metrics().then((text) => Buffer.from(text));
      setTimeout(() => (this.#rendering = undefined), this.#sharedMs).unref();
    }
    return this.#rendering;
  }
}
