/** Waits until an offset is stored. A wait ends when this process commits that offset. */

/** How a wait ended. `full`: the maximum number of waits is reached. `gone`: the client has disconnected. */
export type WaitOutcome = 'reached' | 'timeout' | 'full' | 'stopping' | 'gone';

interface Waiter {
  readonly offset: number;
  readonly end: (outcome: WaitOutcome) => void;
}

/**
 * Default limit. It is sufficient for a page of dashboards or for many workers. Each wait needs one open connection.
 */
export const maxWaiters = 1000;

export class CheckpointWaiters {
  readonly #most: number;
  readonly #waiting = new Set<Waiter>();
  #checkpoint: number | undefined;
  #closed = false;

  /** @param maxCount maximum number of concurrent waits */
  constructor(maxCount = maxWaiters) {
    this.#most = maxCount;
  }

  /** The newest checkpoint that this process knows; undefined before its first session. */
  get checkpoint(): number | undefined {
    return this.#checkpoint;
  }

  /** Number of current waits. */
  get size(): number {
    return this.#waiting.size;
  }

  /** Called when the checkpoint is in the database. */
  reached(checkpoint: number): void {
    this.#checkpoint = checkpoint;
    for (const waiter of this.#waiting) if (waiter.offset <= checkpoint) waiter.end('reached');
  }

  /** Resolves when the checkpoint is at least `offset`, when `timeoutMs` have passed, or when `gone` is aborted. */
  wait(offset: number, timeoutMs: number, abortSignal: AbortSignal): Promise<WaitOutcome> {
    if (this.#checkpoint !== undefined && this.#checkpoint >= offset) return Promise.resolve('reached');
    if (abortSignal.aborted) return Promise.resolve('gone');
    if (this.#closed) return Promise.resolve('stopping');
    if (this.#waiting.size >= this.#most) return Promise.resolve('full');
    return new Promise((resolve) => {
      const timer = setTimeout(() => waiter.end('timeout'), timeoutMs);
      const onClientGone = (): void => waiter.end('gone');
      const waiter: Waiter = {
        offset,
        end: (outcome) => {
          clearTimeout(timer);
          abortSignal.removeEventListener('abort', onClientGone);
          this.#waiting.delete(waiter);
          resolve(outcome);
        },
      };
      this.#waiting.add(waiter);
      abortSignal.addEventListener('abort', onClientGone, { once: true });
    });
  }

  /** Ends every wait. Later waits end immediately. */
  close(): void {
    this.#closed = true;
    for (const waiter of this.#waiting) waiter.end('stopping');
  }
}
