/**
 * One shared array per distinct list of parties. A long history repeats the same few lists many times, and sharing them
 * keeps it small. The tree makes lookups cheap, because the hash of each party's text is computed only once.
 */

interface Node {
  readonly list: readonly string[];
  readonly next: Map<string, Node>;
}

/** Lists as stored in a snapshot. */
export interface SavedPartyLists {
  readonly root: Node;
  readonly named: Set<string>;
  readonly lists: Set<readonly string[]>;
}

export class PartyLists {
  #root: Node = { list: [], next: new Map() };
  #named = new Set<string>();
  #lists = new Set<readonly string[]>();

  save(): SavedPartyLists {
    return { root: this.#root, named: this.#named, lists: this.#lists };
  }

  load({ root, named, lists }: SavedPartyLists): void {
    this.#root = root;
    this.#named = named;
    this.#lists = lists;
  }

  /** The list without repetitions, in its own order. */
  shared(list: readonly string[]): readonly string[] {
    let node = this.#root;
    for (const party of list) {
      if (node.list.includes(party)) continue;
      let next = node.next.get(party);
      if (next === undefined) {
        next = { list: [...node.list, party], next: new Map() };
        node.next.set(party, next);
      }
      node = next;
    }
    return node.list;
  }

  /**
   * Adds the parties of a list that became part of the ledger. Other lists belong to transactions that were never
   * appended.
   */
  name(list: readonly string[]): void {
    if (this.#lists.has(list)) return;
    this.#lists.add(list);
    for (const party of list) this.#named.add(party);
  }

  isNamed(party: string): boolean {
    return this.#named.has(party);
  }

  /** Every party of an added list. */
  all(): readonly string[] {
    return [...this.#named];
  }
}
