/**
 * Deliveries of all webhooks, for the life of the process. Only the holder of the writer lock delivers; a standby that
 * takes over resumes at the cursors in the database. Nothing here stops or delays the stream.
 */
import { pause } from '../config/pause.ts';
import { toIndexerError } from '../errors/indexer-error.ts';
import type { Webhook } from '../model/push/webhook.ts';
import { HookRun } from './hook-run.ts';
import type { DeliveryOptions } from './ports.ts';

/** Delay after a delivery failed because of this side, milliseconds. */
const failureDelayMs = 5_000;

interface ActiveRun {
  readonly run: HookRun;
  readonly stop: AbortController;
  readonly ended: Promise<void>;
}

export class WebhookDeliveries {
  readonly #options: DeliveryOptions;
  readonly #stop = new AbortController();
  /** By the webhook's definition, so that a changed webhook starts again. */
  readonly #running = new Map<string, ActiveRun>();
  readonly #said = new Map<string, string>();
  readonly #over: Promise<void>;

  /** Starts at once, and delivers nothing before this process holds the writer lock. */
  constructor(options: DeliveryOptions) {
    this.#options = options;
    this.#over = options.reach === 'none' ? Promise.resolve() : this.#untilStopped();
  }

  /** Called when something was committed. */
  stir(): void {
    for (const { run } of this.#running.values()) run.stir();
  }

  /** Records deliveries, then ends. Never rejects. */
  async close(): Promise<void> {
    this.#stop.abort();
    await this.#over;
  }

  async #untilStopped(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      if (this.#options.isWriter()) await this.#look().catch((thrown: unknown) => this.#failed('', thrown));
      else this.#standBy();
      await pause(this.#options.lookMs, signal);
    }
    this.#endAll();
    await Promise.all([...this.#running.values()].map(({ ended: endPromise }) => endPromise));
  }

  async #look(): Promise<void> {
    const { store, observer } = this.#options;
    observer.webhooksSeen(await store.standing());
    const active = new Map((await store.active()).map((webhook) => [JSON.stringify(webhook), webhook]));
    for (const [key, { stop }] of this.#running) if (!active.has(key)) stop.abort();
    for (const [key, webhook] of active) if (!this.#running.has(key)) this.#begin(key, webhook);
  }

  #begin(key: string, webhook: Webhook): void {
    // Waits for a webhook of the same name that has not ended yet, because two runs would share a cursor.
    if ([...this.#running.keys()].some((other) => nameOf(other) === webhook.name)) return;
    const stop = new AbortController();
    const run = new HookRun(webhook, this.#options);
    const endPromise = this.#ended(key, webhook.name, run.run(stop.signal));
    this.#running.set(key, { run, stop, ended: endPromise });
  }

  async #ended(key: string, name: string, end: Promise<unknown>): Promise<void> {
    try {
      await end;
      this.#said.delete(name);
    } catch (thrown) {
      this.#failed(name, thrown);
      await pause(failureDelayMs, this.#stop.signal);
    }
    this.#running.delete(key);
  }

  /** Stops reporting webhooks, because another process delivers. */
  #standBy(): void {
    this.#endAll();
    this.#options.observer.webhooksSeen([]);
  }

  #endAll(): void {
    for (const { stop } of this.#running.values()) stop.abort();
  }

  /** Reports a failure once, until it changes. */
  #failed(name: string, thrown: unknown): void {
    if (this.#stop.signal.aborted) return;
    const { code, message, remedy } = toIndexerError(thrown);
    const problem = `${code}: ${message}; ${remedy}`;
    if (this.#said.get(name) === problem) return;
    this.#said.set(name, problem);
    this.#options.observer.webhookStuck(name, problem);
  }
}

function nameOf(key: string): string {
  return (JSON.parse(key) as Webhook).name;
}
