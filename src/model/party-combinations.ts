/**
 * Assigns small numbers to the sets of lists (signatories, observers, witnesses, …) that recur in the events of a
 * stream, in the order of first appearance. Only the newest sets are remembered, first in, first out; an older set that
 * recurs gets a new number. The remembered sets are limited by number and by size, because the ledger determines both.
 * They depend only on the stored rows: a new session reads exactly these sets from the database, and assigns the same
 * numbers as the previous session would have.
 */
import { detachText } from './own-text.ts';

type List = readonly string[];
/** The lists of one set, in the order of the table's columns. */
export type PartyLists = readonly [List, List, List];

export interface PartySet {
  readonly pk: number;
  readonly lists: PartyLists;
}

/** The stored sets that a session reads. */
export interface StoredCombinations {
  /** The highest number; 0 if there is none. The set with this number may be too large to be remembered. */
  readonly last: number;
  /**
   * The newest sets in the order of their numbers, as many as fit into {@link maxCachedPartySets} and {@link
   * rememberedBytes}.
   */
  readonly newest: readonly PartySet[];
}

/** Maximum number of sets that are remembered. */
export const maxCachedPartySets = 16_384;

/** Maximum memory of the remembered sets of one table, by {@link sizeOf}, in bytes. */
export const rememberedBytes = 24 * 1024 * 1024;

/** Memory of each step of the tree, in addition to the bytes of a text; measured as about 300 bytes. */
export const bytesPerStep = 320;

/**
 * Maximum number of sets that are found by the identity of their lists. Beyond it, all are forgotten and compared by
 * content again.
 */
const maxSeenSets = 8_192;

/** Maximum memory of these lists, by {@link sizeOf}, in bytes. A list is kept even when its set is forgotten. */
const maxSeenBytes = rememberedBytes / 3;

/** Approximate memory of a set. `dictionary-store.ts` computes the same number in SQL. */
export function sizeOf(lists: PartyLists): number {
  let size = lists.length * bytesPerStep;
  for (const list of lists) for (const text of list) size += Buffer.byteLength(text) + bytesPerStep;
  return size;
}

/** A text in remembered sets, and the number of its occurrences. */
interface InternedText {
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
interface CachedPartySet {
  readonly steps: readonly number[];
  readonly size: number;
}

const listEndStep = 0;

export class PartyCombinations {
  readonly #texts = new Map<string, InternedText>();
  readonly #root = newBranch();
  /** The remembered sets in the order of their numbers. */
  readonly #remembered = new Map<number, CachedPartySet>();
  #rememberedBytes = 0;
  readonly #textsById = new Map<number, InternedText>();
  #lastText = listEndStep;
  /**
   * Numbers by the identity of the lists, not by their content. The frame reader returns the same list object again.
   */
  readonly #seen = new Map<List, Map<List, Map<List, number>>>();
  #seenCount = 0;
  #seenBytes = 0;
  /** The number of the newest set that is no longer remembered. */
  #forgotten = 0;
  #last: number;
  #added: PartySet[] = [];

  constructor({ last, newest }: StoredCombinations = { last: 0, newest: [] }) {
    this.#last = last;
    for (const { pk, lists } of newest) this.#remember(pk, lists, sizeOf(lists));
  }

  /**
   * The number of a set, which may be a new one. Lists that were looked up before are not compared by content again.
   */
  number(first: List, secondList: List, thirdList: List): number {
    const seenPk = this.#seen.get(first)?.get(secondList)?.get(thirdList);
    if (seenPk !== undefined && seenPk > this.#forgotten) return seenPk;
    const lists = [first, secondList, thirdList] as const;
    const size = sizeOf(lists);
    const knownPk = this.#after(this.#after(this.#after(this.#root, first), secondList), thirdList)?.pk;
    const number = knownPk ?? this.#add(lists, size);
    this.#noteSeen(lists, size, number);
    return number;
  }

  #add(lists: PartyLists, size: number): number {
    this.#last += 1;
    while (this.#remembered.size > 0 && this.#isFull(size)) this.#forgetOldest();
    if (size <= rememberedBytes) this.#remember(this.#last, lists, size);
    else this.#forgotten = this.#last;
    this.#added.push({ pk: this.#last, lists });
    return this.#last;
  }

  /** Whether the memory has no space for another set of this size. */
  #isFull(size: number): boolean {
    return this.#remembered.size >= maxCachedPartySets || this.#rememberedBytes + size > rememberedBytes;
  }

  #noteSeen([first, secondList, thirdList]: PartyLists, size: number, pk: number): void {
    if (size > maxSeenBytes) return;
    this.#seenCount += 1;
    this.#seenBytes += size;
    if (this.#seenCount > maxSeenSets || this.#seenBytes > maxSeenBytes) {
      this.#seen.clear();
      this.#seenCount = 1;
      this.#seenBytes = size;
    }
    let mapBySecond = this.#seen.get(first);
    if (mapBySecond === undefined) this.#seen.set(first, (mapBySecond = new Map()));
    let mapByThird = mapBySecond.get(secondList);
    if (mapByThird === undefined) mapBySecond.set(secondList, (mapByThird = new Map()));
    mapByThird.set(thirdList, pk);
  }

  /** Returns the sets that are new since the last call. */
  takeAdded(): readonly PartySet[] {
    const addedSets = this.#added;
    this.#added = [];
    return addedSets;
  }

  /** The branch after the steps of a list; undefined if no set continues like that. */
  #after(from: Branch | undefined, list: List): Branch | undefined {
    let node = from;
    for (const text of list) {
      if (node === undefined) return undefined;
      const internedText = this.#texts.get(text);
      node = internedText === undefined ? undefined : node.next.get(internedText.id);
    }
    return node?.next.get(listEndStep);
  }

  #remember(pk: number, lists: PartyLists, size: number): void {
    const steps = lists.flatMap((list) => [...list.map((text) => this.#use(text)), listEndStep]);
    let node = this.#root;
    for (const step of steps) {
      let next = node.next.get(step);
      if (next === undefined) node.next.set(step, (next = newBranch()));
      node = next;
    }
    node.pk = pk;
    this.#remembered.set(pk, { steps, size });
    this.#rememberedBytes += size;
  }

  #use(text: string): number {
    let internedText = this.#texts.get(text);
    if (internedText === undefined) {
      internedText = { text: detachText(text), id: (this.#lastText += 1), uses: 0 };
      this.#texts.set(internedText.text, internedText);
      this.#textsById.set(internedText.id, internedText);
    }
    internedText.uses += 1;
    return internedText.id;
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
    for (let index = steps.length; index > 0; index -= 1) {
      const parentNode = path[index];
      if (parentNode === undefined || parentNode.next.size > 0 || parentNode.pk !== undefined) return;
      path[index - 1]?.next.delete(steps[index - 1] ?? listEndStep);
    }
  }

  #disuse(step: number): void {
    const internedText = this.#textsById.get(step);
    if (internedText === undefined) return;
    internedText.uses -= 1;
    if (internedText.uses > 0) return;
    this.#textsById.delete(step);
    this.#texts.delete(internedText.text);
  }
}

function newBranch(): Branch {
  return { next: new Map(), pk: undefined };
}
