/** The updates of the ledger in offset order. Reading a range costs a binary search; pruning drops the old end. */
import type { CreatedEvent, Update } from './wire.ts';

export interface StoredUpdate {
  readonly offset: number;
  /** Undefined for recorded updates of a kind the sandbox does not know. */
  readonly update: Update | undefined;
  /** The recorded text, served instead of a rendering. */
  readonly raw: string | undefined;
  /** By the index of an archiving event: the create of what it archived. */
  readonly archived: readonly (CreatedEvent | undefined)[] | undefined;
}

export class History {
  #updates: StoredUpdate[] = [];

  add(stored: StoredUpdate): void {
    this.#updates.push(stored);
  }

  /** At most `limit` updates with beginExclusive < offset <= endInclusive. */
  range(beginExclusive: number, endInclusive: number, limit: number): readonly StoredUpdate[] {
    const from = this.#firstAfter(beginExclusive);
    const to = Math.min(this.#firstAfter(endInclusive), from + limit);
    return this.#updates.slice(from, to);
  }

  find(matches: (stored: StoredUpdate) => boolean): StoredUpdate | undefined {
    return this.#updates.find(matches);
  }

  /** Forgets everything up to and including the offset. */
  prune(offset: number): void {
    this.#updates = this.#updates.slice(this.#firstAfter(offset));
  }

  #firstAfter(offset: number): number {
    let low = 0;
    let high = this.#updates.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#updates[middle]?.offset ?? Infinity) <= offset) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
