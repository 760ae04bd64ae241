/** What will happen when: actions by time, those of the same time in the order in which they were added. */

/** Appends exactly one update and tells so, or finds that there is nothing to do any more. `at`: microseconds since 1970. */
export type Action = (at: number) => boolean;

interface Entry {
  readonly at: number;
  readonly order: number;
  readonly action: Action;
}

const before = (a: Entry, b: Entry): boolean => a.at < b.at || (a.at === b.at && a.order < b.order);

export class Agenda {
  readonly #heap: Entry[] = [];
  #added = 0;

  /** How many actions are still to come. */
  get size(): number {
    return this.#heap.length;
  }

  /** When the next action is due, microseconds since 1970; undefined when there is none. */
  get nextAt(): number | undefined {
    return this.#heap[0]?.at;
  }

  add(at: number, action: Action): void {
    const entry = { at, order: this.#added, action };
    this.#added += 1;
    const heap = this.#heap;
    let place = heap.push(entry) - 1;
    while (place > 0) {
      const parent = (place - 1) >> 1;
      const above = heap[parent];
      if (above === undefined || !before(entry, above)) break;
      heap[place] = above;
      place = parent;
    }
    heap[place] = entry;
  }

  /** Takes the next action off that is due at this time. */
  take(at: number): Action | undefined {
    const [first] = this.#heap;
    if (first === undefined || first.at > at) return undefined;
    const last = this.#heap.pop();
    if (last !== undefined && this.#heap.length > 0) this.#sink(last);
    return first.action;
  }

  #sink(entry: Entry): void {
    const heap = this.#heap;
    let place = 0;
    for (;;) {
      const [left, right] = [heap[2 * place + 1], heap[2 * place + 2]];
      if (left === undefined) break;
      const child = right !== undefined && before(right, left) ? right : left;
      if (!before(child, entry)) break;
      heap[place] = child;
      place = child === left ? 2 * place + 1 : 2 * place + 2;
    }
    heap[place] = entry;
  }
}
