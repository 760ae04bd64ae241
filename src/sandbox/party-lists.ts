/**
 * One shared array per distinct list of parties. A long history names the same few lists again and again; sharing them
 * keeps it small, and the tree makes the look-up cheap because the hashes of the party texts are computed once.
 */

interface Node {
  readonly list: readonly string[];
  readonly next: Map<string, Node>;
}

export class PartyLists {
  readonly #root: Node = { list: [], next: new Map() };
  readonly #all = new Set<string>();

  /** The list without repetitions, in the order given. */
  shared(list: readonly string[]): readonly string[] {
    let node = this.#root;
    for (const party of list) {
      if (node.list.includes(party)) continue;
      let next = node.next.get(party);
      if (next === undefined) {
        next = { list: [...node.list, party], next: new Map() };
        node.next.set(party, next);
        this.#all.add(party);
      }
      node = next;
    }
    return node.list;
  }

  /** Every party any list named. */
  all(): readonly string[] {
    return [...this.#all];
  }
}
