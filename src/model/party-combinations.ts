/**
 * Small numbers for the combinations of lists (signatories, observers, witnesses, …) that come again and again with the
 * events of a stream. Numbers are given in order of first appearance. Only the newest combinations are remembered, first in,
 * first out: an older one that comes again gets a new number. So what is remembered is a function of the numbers alone, and
 * a session that begins anew reads exactly these from the database and gives the numbers that the one before would have given.
 */

/** Lists of one combination, in the order of the table's columns. */
export type Lists = readonly (readonly string[])[];

export interface Combination {
  readonly pk: number;
  readonly lists: Lists;
}

/** How many are remembered: a few hundred bytes each. */
export const rememberedCombinations = 16_384;

export class PartyCombinations {
  readonly #known = new Map<string, number>();
  #last: number;
  #added: Combination[] = [];

  /** @param stored the newest combinations in the order of their numbers, see {@link rememberedCombinations} */
  constructor(stored: readonly Combination[]) {
    this.#last = stored.at(-1)?.pk ?? 0;
    for (const { pk, lists } of stored) this.#known.set(keyOf(lists), pk);
  }

  /** The number of a combination, which may be new. */
  number(...lists: Lists): number {
    const key = keyOf(lists);
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    this.#last += 1;
    this.#known.set(key, this.#last);
    if (this.#known.size > rememberedCombinations) this.#forgetOldest();
    this.#added.push({ pk: this.#last, lists });
    return this.#last;
  }

  /** What is new since the last call. */
  takeAdded(): readonly Combination[] {
    const added = this.#added;
    this.#added = [];
    return added;
  }

  #forgetOldest(): void {
    for (const key of this.#known.keys()) {
      this.#known.delete(key);
      return;
    }
  }
}

/**
 * NUL stands in no text that Postgres can store: with the lengths of the lists, no two combinations that can be stored have
 * the same key, nor one that can and one that cannot.
 */
function keyOf(lists: Lists): string {
  let key = '';
  for (const list of lists) key += `${String(list.length)} `;
  for (const list of lists) for (const item of list) key += `\0${item}`;
  // Written down now, it does not hold the frames that its parts lie in.
  key.charCodeAt(0);
  return key;
}
