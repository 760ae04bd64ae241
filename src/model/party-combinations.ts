/**
 * Assigns small numbers to the sets of lists (signatories, observers, witnesses, …) that recur in the events of a
 * stream, in the order of first appearance. Only the newest sets are remembered, first in, first out; an older set that
 * recurs gets a new number. The remembered sets are limited by number and by size, because the ledger determines both.
 * They depend only on the stored rows: a new session reads exactly these sets from the database, and assigns the same
 * numbers as the previous session would have.
 */
import { ownText } from './own-text.ts';

type List = readonly string[];
/** The lists of one set, in the order of the table's columns. */
export type Lists = readonly [List, List, List];

export interface Combination {
  readonly pk: number;
  readonly lists: Lists;
}

/** The stored sets that a session reads. */
export interface StoredCombinations {
  /** The highest number; 0 if there is none. The set with this number may be too large to be remembered. */
  readonly last: number;
  /**
   * The newest sets in the order of their numbers, as many as fit into {@link rememberedCombinations} and {@link
   * rememberedBytes}.
   */
  readonly newest: readonly Combination[];
}

/** Maximum number of sets that are remembered. */
export const rememberedCombinations = 16_384;

/** Maximum memory of the remembered sets of one table, by {@link sizeOf}, in bytes. */
export const rememberedBytes = 24 * 1024 * 1024;

/** Memory of each step of the tree, in addition to the bytes of a text; measured as about 300 bytes. */
export const bytesPerStep = 320;

/**
 * Maximum number of sets that are found by the identity of their lists. Beyond it, all are forgotten and compared by
 * content again.
 */
const mostSeen = 8_192;

/** Maximum memory of these lists, by {@link sizeOf}, in bytes. A list is kept even when its set is forgotten. */
const mostSeenBytes = rememberedBytes / 3;

/** Approximate memory of a set. `dictionary-store.ts` computes the same number in SQL. */
export function sizeOf(lists: Lists): number {
  let size = lists.length * bytesPerStep;
  for (const list of lists) for (const text of list) size += Buffer.byteLength(text) + bytesPerStep;
  return size;
}

/** A text in remembered sets, and the number of its occurrences. */
interface KnownText {
  readonly text: string;
  readonly id: number;
  uses: number;
}

/**
 * Node of the tree of remembered sets, in which sets with the same beginning share their path. The tree has a step for
 * each text, and one for the end of each list.
 */
interface Branch {
  readonly next: Map<number, Branch>;
  /** The number of the set that ends here; undefined if none does. */
  pk: number | undefined;
}

/** A remembered set: the steps that lead to it, and its size. */
interface Remembered {
  readonly steps: readonly number[];
  readonly size: number;
}

const endOfList = 0;

export class PartyCombinations {
  readonly #texts = new Map<string, KnownText>();
  readonly #root = newBranch();
  /** The remembered sets in the order of their numbers. */
  readonly #remembered = new Map<number, Remembered>();
  #rememberedBytes = 0;
  readonly #textsById = new Map<number, KnownText>();
  #lastText = endOfList;
  /**
   * Numbers by the identity of the lists, not by their content. The frame reader returns the same list object again.
   */
  readonly #seen = new Map<List, Map<List, Map<List, number>>>();
  #seenCount = 0;
  #seenBytes = 0;
  /** The number of the newest set that is no longer remembered. */
  #forgotten = 0;
  #last: number;
  #added: Combination[] = [];

  constructor({ last, newest }: StoredCombinations = { last: 0, newest: [] }) {
    this.#last = last;
    for (const { pk, lists } of newest) this.#remember(pk, lists, sizeOf(lists));
  }

  /**
   * The number of a set, which may be a new one. Lists that were looked up before are not compared by content again.
   */
  number(first: List, second: List, third: List): number {
    const seen = this.#seen.get(first)?.get(second)?.get(third);
    if (seen !== undefined && seen > this.#forgotten) return seen;
    const lists = [first, second, third] as const;
    const size = sizeOf(lists);
    const known = this.#after(this.#after(this.#after(this.#root, first), second), third)?.pk;
    const number = known ?? this.#add(lists, size);
    this.#noteSeen(lists, size, number);
    return number;
  }

  #add(lists: Lists, size: number): number {
    this.#last += 1;
    while (this.#remembered.size > 0 && this.#isFull(size)) this.#forgetOldest();
    if (size <= rememberedBytes) this.#remember(this.#last, lists, size);
    else this.#forgotten = this.#last;
    this.#added.push({ pk: this.#last, lists });
    return this.#last;
  }

  /** Whether the memory has no space for another set of this size. */
  #isFull(size: number): boolean {
    return this.#remembered.size >= rememberedCombinations || this.#rememberedBytes + size > rememberedBytes;
  }

  #noteSeen([first, second, third]: Lists, size: number, pk: number): void {
    if (size > mostSeenBytes) return;
    this.#seenCount += 1;
    this.#seenBytes += size;
    if (this.#seenCount > mostSeen || this.#seenBytes > mostSeenBytes) {
      this.#seen.clear();
      this.#seenCount = 1;
      this.#seenBytes = size;
    }
    let bySecond = this.#seen.get(first);
    if (bySecond === undefined) this.#seen.set(first, (bySecond = new Map()));
    let byThird = bySecond.get(second);
    if (byThird === undefined) bySecond.set(second, (byThird = new Map()));
    byThird.set(third, pk);
  }

  /** Returns the sets that are new since the last call. */
  takeAdded(): readonly Combination[] {
    const added = this.#added;
    this.#added = [];
    return added;
  }

  /** The branch after the steps of a list; undefined if no set continues like that. */
  #after(from: Branch | undefined, list: List): Branch | undefined {
    let branch = from;
    for (const text of list) {
      if (branch === undefined) return undefined;
      const known = this.#texts.get(text);
      branch = known === undefined ? undefined : branch.next.get(known.id);
    }
    return branch?.next.get(endOfList);
  }

  #remember(pk: number, lists: Lists, size: number): void {
    const steps = lists.flatMap((list) => [...list.map((text) => this.#use(text)), endOfList]);
    let branch = this.#root;
    for (const step of steps) {
      let next = branch.next.get(step);
      if (next === undefined) branch.next.set(step, (next = newBranch()));
      branch = next;
    }
    branch.pk = pk;
    this.#remembered.set(pk, { steps, size });
    this.#rememberedBytes += size;
  }

  #use(text: string): number {
    let known = this.#texts.get(text);
    if (known === undefined) {
      known = { text: ownText(text), id: (this.#lastText += 1), uses: 0 };
      this.#texts.set(known.text, known);
      this.#textsById.set(known.id, known);
    }
    known.uses += 1;
    return known.id;
  }

  #forgetOldest(): void {
    for (const [pk, { steps, size }] of this.#remembered) {
      this.#remembered.delete(pk);
      this.#rememberedBytes -= size;
      this.#forgotten = pk;
      this.#cut(steps, pk);
      for (const step of steps) this.#disuse(step);
      return;
    }
  }

  /** Removes the set at the end of these steps, and branches that lead only to it. */
  #cut(steps: readonly number[], pk: number): void {
    const path = [this.#root];
    for (const step of steps) {
      const next = path.at(-1)?.next.get(step);
      if (next === undefined) return;
      path.push(next);
    }
    const last = path.at(-1);
    // The set may have got a new number meanwhile, in a database that was filled by hand.
    if (last?.pk !== pk) return;
    last.pk = undefined;
    for (let at = steps.length; at > 0; at -= 1) {
      const branch = path[at];
      if (branch === undefined || branch.next.size > 0 || branch.pk !== undefined) return;
      path[at - 1]?.next.delete(steps[at - 1] ?? endOfList);
    }
  }

  #disuse(step: number): void {
    const known = this.#textsById.get(step);
    if (known === undefined) return;
    known.uses -= 1;
    if (known.uses > 0) return;
    this.#textsById.delete(step);
    this.#texts.delete(known.text);
  }
}

function newBranch(): Branch {
  return { next: new Map(), pk: undefined };
}
