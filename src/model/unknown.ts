/**
 * Names sent by the ledger that this version does not know, counted by name: a newer participant is noticed on its
 * first day. Any number of names must not fill the memory, so there is a limit; names beyond it share one.
 */
import { ownText } from './own-text.ts';

/** A kind of update or a topology event, which are kept raw, or a field of a known message, which is not kept. */
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

/**
 * A name that the ledger chose, for a path: a name that does not look like one of the interface may be contents, and is
 * replaced.
 */
export function safeKey(key: string): string {
  return /^[A-Za-z]\w{0,39}$/.test(key) ? key : '(unknown)';
}

/**
 * Handling of an update of an unknown kind: parked when it names contracts and otherwise kept raw, always parked, or
 * always kept.
 */
export type UnknownPolicy = 'auto' | 'park' | 'store';

const mostNames = 50;
/** Shared name of those beyond the limit. */
export const otherNames = 'other';

export class UnknownNames {
  /** Transactions that the fast reader could not read and the scanner read. */
  fallbackDecodedTransactions = 0;
  readonly #names = new Map<string, UnknownName>();

  /** In order of arrival. */
  get all(): readonly UnknownName[] {
    return [...this.#names.values()];
  }

  get size(): number {
    return this.#names.size;
  }

  /** The name that it is counted under, and whether it occurred for the first time. */
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
