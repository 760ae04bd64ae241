/** Planned errands, ordered by time. Errands of the same time are in the order in which they were added. */

import type { Errand } from './errand.ts';

interface Entry {
  readonly at: number;
  readonly order: number;
  readonly errand: Errand;
}

/** An agenda as stored in a snapshot. */
export interface SavedAgenda {
  readonly heap: Entry[];
  readonly added: number;
}

const isBefore = (a: Entry, b: Entry): boolean => a.at < b.at || (a.at === b.at && a.order < b.order);

export class Agenda {
  #heap: Entry[] = [];
  #added = 0;

  /** Number of errands that are still planned. */
  get size(): number {
    return this.#heap.length;
  }

  /** Time of the next errand, microseconds since 1970; undefined if there is none. */
  get nextAt(): number | undefined {
    return this.#heap[0]?.at;
  }

  /** Whether the next errand is of a kind, and due at this time. */
  isNext(what: Errand['what'], at: number): boolean {
    const [first] = this.#heap;
    return first?.errand.what === what && first.at <= at;
  }

  add(at: number, errand: Errand): void {
    const entry = { at, order: this.#added, errand };
    this.#added += 1;
    const heap = this.#heap;
    let index = heap.push(entry) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      const parentEntry = heap[parent];
      if (parentEntry === undefined || !isBefore(entry, parentEntry)) break;
      heap[index] = parentEntry;
      index = parent;
    }
    heap[index] = entry;
  }

  save(): SavedAgenda {
    return { heap: this.#heap, added: this.#added };
  }

  load({ heap, added }: SavedAgenda): void {
    this.#heap = heap;
    this.#added = added;
  }

  /** Removes and returns the next errand that is due at this time. */
  take(at: number): Errand | undefined {
    const [first] = this.#heap;
    if (first === undefined || first.at > at) return undefined;
    const last = this.#heap.pop();
    if (last !== undefined && this.#heap.length > 0) this.#sink(last);
    return first.errand;
  }

  #sink(entry: Entry): void {
    const heap = this.#heap;
    let index = 0;
    for (;;) {
      const [leftChild, right] = [heap[2 * index + 1], heap[2 * index + 2]];
      if (leftChild === undefined) break;
      const child = right !== undefined && isBefore(right, leftChild) ? right : leftChild;
      if (!isBefore(child, entry)) break;
      heap[index] = child;
      index = child === leftChild ? 2 * index + 1 : 2 * index + 2;
    }
    heap[index] = entry;
  }
}
