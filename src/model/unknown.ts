/**
 * Counts the names in the ledger's messages that this version does not know, so that a newer participant is noticed on
 * its first day. The number of names is limited, so that they cannot fill the memory; names beyond the limit are
 * counted together.
 */
import { detachText } from './own-text.ts';

/**
 * Kinds of unknown names: of an update or a topology event, which are stored raw, and of a field in a known message,
 * which is not stored.
 */
export const unknownKinds = ['update', 'topology_event', 'field'] as const;
export type UnknownKind = (typeof unknownKinds)[number];

export interface UnknownNameCount {
  readonly kind: UnknownKind;
  /** The ledger's own name; `Message.field` for a field. */
  readonly name: string;
  /** Offset of the first update with this name; null if it was found in an entry of the active contracts. */
  readonly firstOffset: number | null;
  readonly count: number;
}

/**
 * Makes a name that the ledger chose safe to print in a path. A name that does not look like one of the interface may
 * be contents, and is replaced.
 */
export function safeKey(key: string): string {
  return /^[A-Za-z]\w{0,39}$/.test(key) ? key : '(unknown)';
}

/**
 * Handling of an update of an unknown kind. `auto`: park if it names contracts, otherwise store it raw. `park`: always
 * park. `store`: always store it raw.
 */
export type UnknownPolicy = 'auto' | 'park' | 'store';

const maxNames = 50;
/** Name under which names beyond the limit are counted. */
export const otherNames = 'other';

export class UnknownNames {
  /** Number of transactions that the fast reader could not read and the scanner read. */
  fallbackDecodedTransactions = 0;
  readonly #names = new Map<string, UnknownNameCount>();

  /** Names in order of first appearance. */
  get all(): readonly UnknownNameCount[] {
    return [...this.#names.values()];
  }

  get size(): number {
    return this.#names.size;
  }

  /** Counts a name. @returns the name that it is counted under, and whether it occurred for the first time */
  add({ kind, name, firstOffset, count }: UnknownNameCount): { readonly name: string; readonly fresh: boolean } {
    const key = `${kind} ${name}`;
    const existingCount = this.#names.get(key);
    if (existingCount !== undefined) {
      this.#names.set(key, { ...existingCount, count: existingCount.count + count });
      return { name: existingCount.name, fresh: false };
    }
    if (this.#names.size >= maxNames && name !== otherNames) {
      return this.add({ kind, name: otherNames, firstOffset, count });
    }
    const detachedName = detachText(name);
    this.#names.set(`${kind} ${detachedName}`, { kind, name: detachedName, firstOffset, count });
    return { name: detachedName, fresh: true };
  }
}
