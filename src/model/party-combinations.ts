/**
 * Small numbers for the combinations of lists (signatories, observers, witnesses, …) that come again and again with the
 * events of a stream. Numbers are given in order of first appearance. Only the newest combinations are remembered, first in,
 * first out: an older one that comes again gets a new number. So what is remembered is a function of the numbers alone, and
 * a session that begins anew reads exactly these from the database and gives the numbers that the one before would have given.
 */
import { ownText } from './own-text.ts';

type List = readonly string[];
/** Lists of one combination, in the order of the table's columns. */
export type Lists = readonly [List, List, List];

export interface Combination {
  readonly pk: number;
  readonly lists: Lists;
}

/** How many are remembered: a few hundred bytes each. */
export const rememberedCombinations = 16_384;

/** How many combinations are found by their lists; one more, and all are read again. */
const mostSeen = 8_192;

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

const endOfList = 0;

export class PartyCombinations {
  readonly #texts = new Map<string, KnownText>();
  readonly #root = newBranch();
  /** The remembered combinations in the order of their numbers, as the steps to them. */
  readonly #remembered = new Map<number, readonly number[]>();
  readonly #textsById = new Map<number, KnownText>();
  #lastText = endOfList;
  /** Numbers by the lists themselves, not by what is in them: who reads frames gives the same list again. */
  readonly #seen = new Map<List, Map<List, Map<List, number>>>();
  #seenCount = 0;
  /** The number of the newest combination that is not remembered any more. */
  #forgotten = 0;
  #last: number;
  #added: Combination[] = [];

  /** @param stored the newest combinations in the order of their numbers, see {@link rememberedCombinations} */
  constructor(stored: readonly Combination[]) {
    this.#last = stored.at(-1)?.pk ?? 0;
    for (const { pk, lists } of stored) this.#remember(pk, lists);
  }

  /** The number of a combination, which may be new. Lists that were asked for before need not be read. */
  number(first: List, second: List, third: List): number {
    const seen = this.#seen.get(first)?.get(second)?.get(third);
    if (seen !== undefined && seen > this.#forgotten) return seen;
    const number =
      this.#after(this.#after(this.#after(this.#root, first), second), third)?.pk ?? this.#add(first, second, third);
    this.#noteSeen([first, second, third], number);
    return number;
  }

  #add(first: List, second: List, third: List): number {
    const lists = [first, second, third] as const;
    this.#last += 1;
    this.#remember(this.#last, lists);
    if (this.#remembered.size > rememberedCombinations) this.#forgetOldest();
    this.#added.push({ pk: this.#last, lists });
    return this.#last;
  }

  #noteSeen([first, second, third]: Lists, pk: number): void {
    this.#seenCount += 1;
    if (this.#seenCount > mostSeen) {
      this.#seen.clear();
      this.#seenCount = 1;
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

  #remember(pk: number, lists: Lists): void {
    const steps = lists.flatMap((list) => [...list.map((text) => this.#use(text)), endOfList]);
    let branch = this.#root;
    for (const step of steps) {
      let next = branch.next.get(step);
      if (next === undefined) branch.next.set(step, (next = newBranch()));
      branch = next;
    }
    branch.pk = pk;
    this.#remembered.set(pk, steps);
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
    for (const [pk, steps] of this.#remembered) {
      this.#remembered.delete(pk);
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
