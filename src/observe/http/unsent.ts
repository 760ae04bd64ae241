/**
 * Budget for response data that clients have not read yet. When the total exceeds the budget, the connections with the
 * most unread data are closed. Therefore clients that do not read their responses cannot fill the memory of the
 * process, even if there are many of them.
 */
import type { ServerResponse } from 'node:http';

/** Share of the heap limit. The remainder is for frames, see LEDGER_MAX_FRAME_BYTES. */
const shareOfHeap = 1 / 8;

/** Budget in bytes for a process with this heap limit. */
export function unsentLimit(heap: number): number {
  return Math.floor(heap * shareOfHeap);
}

export class UnsentBytes {
  readonly #limit: number;
  readonly #held = new Map<ServerResponse, number>();
  #sum = 0;

  /** @param limit bytes of all responses together; a single response may exceed it */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Counts the unsent bytes of a response until its client has read them. Call it whenever a write returns false. */
  hold(response: ServerResponse): void {
    if (response.closed || response.writableLength === 0) return;
    if (!this.#held.has(response)) this.#watch(response);
    this.#count(response);
    if (this.#sum > this.#limit) this.#cut();
  }

  #watch(response: ServerResponse): void {
    const onDrained = (): void => {
      response.off('drain', onDrained).off('close', onDrained);
      this.#forget(response);
    };
    response.on('drain', onDrained).on('close', onDrained);
  }

  #cut(): void {
    // The data is counted again, because clients may have read some of it in the meantime.
    for (const response of this.#held.keys()) this.#count(response);
    const largestFirst = [...this.#held].sort(([, left], [, other]) => other - left);
    for (const [response] of largestFirst) {
      if (this.#sum <= this.#limit || this.#held.size === 1) return;
      this.#forget(response);
      response.destroy();
    }
  }

  #count(response: ServerResponse): void {
    const bytes = response.writableLength;
    this.#sum += bytes - (this.#held.get(response) ?? 0);
    this.#held.set(response, bytes);
  }

  #forget(response: ServerResponse): void {
    this.#sum -= this.#held.get(response) ?? 0;
    this.#held.delete(response);
  }
}
