/**
 * What answers hold that their clients have not taken yet. All of it together has a budget: where it is used up, the connections that hold
 * most are cut, however many clients take nothing, so that none of them can fill the memory of the process.
 */
import type { ServerResponse } from 'node:http';

/** Of the heap's limit: as much is left as frames may take, see LEDGER_MAX_FRAME_BYTES. */
const shareOfHeap = 1 / 8;

/** Bytes, for a process whose heap has this limit. */
export function unsentLimitFor(heap: number): number {
  return Math.floor(heap * shareOfHeap);
}

export class Unsent {
  readonly #limit: number;
  readonly #held = new Map<ServerResponse, number>();
  #sum = 0;

  /** @param limit bytes of all answers together; one answer alone may have more */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Counts what an answer has still to send, until its client has taken it. To be called whenever a write found no room. */
  hold(response: ServerResponse): void {
    if (response.closed || response.writableLength === 0) return;
    if (!this.#held.has(response)) this.#watch(response);
    this.#count(response);
    if (this.#sum > this.#limit) this.#cut();
  }

  #watch(response: ServerResponse): void {
    const taken = (): void => {
      response.off('drain', taken).off('close', taken);
      this.#forget(response);
    };
    response.on('drain', taken).on('close', taken);
  }

  #cut(): void {
    // A part of it may have been taken meanwhile.
    for (const response of this.#held.keys()) this.#count(response);
    const largestFirst = [...this.#held].sort(([, one], [, other]) => other - one);
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
