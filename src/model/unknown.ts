/**
 * What the ledger sent that this version does not know, counted by name: a newer participant shows on its first day. As
 * many names as a ledger likes must not fill the memory, so there is a limit; what is beyond it shares one name.
 */
import { ownText } from './own-text.ts';

/** A kind of update or an event of a topology transaction, which are kept raw, or a field of a known message, which is not kept. */
export const unknownKinds = ['update', 'topology_event', 'field'] as const;
export type UnknownKind = (typeof unknownKinds)[number];

export interface UnknownName {
  readonly kind: UnknownKind;
  /** The ledger's own; a field as `Message.field`. */
  readonly name: string;
  /** Of the update in which it came first; null in an entry of the active contracts. */
  readonly firstOffset: number | null;
  readonly count: number;
}

/** A name the ledger chose, for a path: what does not look like one of the interface may be contents, and is not shown. */
export function shownKey(key: string): string {
  return /^[A-Za-z]\w{0,39}$/.test(key) ? key : '(unknown)';
}

/** What becomes of an update of an unknown kind: parked when it names contracts and else kept raw, always parked, or always kept. */
export type UnknownPolicy = 'auto' | 'park' | 'store';

const mostNames = 50;
/** The name of what has no place of its own. */
export const otherNames = 'other';

export class UnknownNames {
  /** Transactions that the quick reader could not read and the scanner read. */
  fallbackDecodedTransactions = 0;
  readonly #names = new Map<string, UnknownName>();

  /** In the order in which they came. */
  get all(): readonly UnknownName[] {
    return [...this.#names.values()];
  }

  get size(): number {
    return this.#names.size;
  }

  /** Under which name it is counted, and whether it was met for the first time. */
  add({ kind, name, firstOffset, count }: UnknownName): { readonly name: string; readonly fresh: boolean } {
    const key = `${kind} ${name}`;
    const known = this.#names.get(key);
    if (known !== undefined) {
      this.#names.set(key, { ...known, count: known.count + count });
      return { name: known.name, fresh: false };
    }
    if (this.#names.size >= mostNames && name !== otherNames) {
      return this.add({ kind, name: otherNames, firstOffset, count });
    }
    const own = ownText(name);
    this.#names.set(`${kind} ${own}`, { kind, name: own, firstOffset, count });
    return { name: own, fresh: true };
  }
}
