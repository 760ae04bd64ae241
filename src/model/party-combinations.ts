/**
 * Small numbers for the combinations of lists (signatories, observers, witnesses, …) that come again and again with the
 * events of a stream. Numbers are given in order of first appearance. Only the newest combinations are remembered, first in,
 * first out: an older one that comes again gets a new number. How many they are is limited by their number and by their
 * size, because the ledger chooses both. What is remembered is a function of what is stored: a new session reads exactly
 * these combinations from the database, and gives the numbers that the previous one would have given.
 */
import { ownText } from './own-text.ts';

type List = readonly string[];
/** Lists of one combination, in the order of the table's columns. */
export type Lists = readonly [List, List, List];

export interface Combination {
  readonly pk: number;
  readonly lists: Lists;
}

/** What a session reads of the stored combinations. */
export interface StoredCombinations {
  /** The highest number; 0: there is none. Its combination may be too large to be remembered. */
  readonly last: number;
  /** In the order of their numbers: as many of the newest as fit {@link rememberedCombinations} and {@link rememberedBytes}. */
  readonly newest: readonly Combination[];
}

/** The most combinations that are remembered. */
export const rememberedCombinations = 16_384;

/** The most that the remembered combinations of one table may take, by {@link sizeOf}. */
export const rememberedBytes = 24 * 1024 * 1024;

/** What each step of the tree takes, in addition to the bytes of a text: about 300 as measured. */
export const bytesPerStep = 320;

/** The most combinations that are found by their lists; one more, and all are read again. */
const mostSeen = 8_192;

/** The most that these lists may take, by {@link sizeOf}: a list is held as it came, also when its combination is forgotten. */
const mostSeenBytes = rememberedBytes / 3;

/** About how much memory a combination takes. `dictionary-store.ts` computes the same number in SQL. */
export function sizeOf(lists: Lists): number {
  let size = lists.length * bytesPerStep;
  for (const list of lists) for (const text of list) size += Buffer.byteLength(text) + bytesPerStep;
  return size;
}

/** A text that stands in remembered combinations, and in how many places. */
interface KnownText {
  readonly text: string;
  readonly id: number;
  uses: number;
}

/** Where the combinations that begin alike part: a tree with a step for each text, and one for the end of each list. */
interface Branch {
  readonly next: Map<number, Branch>;
  /** The number of the combination that ends here. */
  pk: number | undefined;
}

/** A remembered combination: the steps that lead to it, and its size. */
interface Remembered {
  readonly steps: readonly number[];
  readonly size: number;
}

const endOfList = 0;

export class PartyCombinations {
  readonly #texts = new Map<string, KnownText>();
  readonly #root = newBranch();
  /** The remembered combinations in the order of their numbers. */
  readonly #remembered = new Map<number, Remembered>();
  #rememberedBytes = 0;
  readonly #textsById = new Map<number, KnownText>();
  #lastText = endOfList;
  /** Numbers by the lists themselves, not by what is in them: who reads frames gives the same list again. */
  readonly #seen = new Map<List, Map<List, Map<List, number>>>();
  #seenCount = 0;
  #seenBytes = 0;
  /** The number of the newest combination that is not remembered any more. */
  #forgotten = 0;
  #last: number;
  #added: Combination[] = [];

  constructor({ last, newest }: StoredCombinations = { last: 0, newest: [] }) {
    this.#last = last;
    for (const { pk, lists } of newest) this.#remember(pk, lists, sizeOf(lists));
  }

  /** The number of a combination, which may be new. Lists that were asked for before need not be read. */
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

  /** Whether another combination of this size is one too many. */
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

  /** What is new since the last call. */
  takeAdded(): readonly Combination[] {
    const added = this.#added;
    this.#added = [];
    return added;
  }

  /** Where the steps of a list lead to; undefined where no combination goes on like that. */
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

  /** Removes the combination at the end of these steps, and the branches that lead to nothing else. */
  #cut(steps: readonly number[], pk: number): void {
    const path = [this.#root];
    for (const step of steps) {
      const next = path.at(-1)?.next.get(step);
      if (next === undefined) return;
      path.push(next);
    }
    const last = path.at(-1);
    // It may have come again meanwhile, in a database that somebody filled by hand.
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
