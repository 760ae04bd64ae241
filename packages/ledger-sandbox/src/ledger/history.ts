/**
 * The updates of the ledger in offset order, by update id, and by transaction hash. A range is found by binary search.
 * Pruning removes the oldest updates.
 */
import { valueOf } from '../wire/wire.ts';
import type { CreatedEvent, Update } from '../wire/wire.ts';

export interface StoredUpdate {
  readonly offset: number;
  /** Empty for a recorded update without one. */
  readonly updateId: string;
  /** Undefined for recorded updates of a kind that the sandbox does not know. */
  readonly update: Update | undefined;
  /** The recorded text, which is served instead of a rendering. */
  readonly raw: string | undefined;
  /** Creates of the archived contracts, by the index of the archiving event. */
  readonly archived: readonly (CreatedEvent | undefined)[] | undefined;
}

function hashOf({ update }: StoredUpdate): string | null {
  return update !== undefined && 'Transaction' in update ? update.Transaction.value.externalTransactionHash : null;
}

/** The same update with another id; a recorded text is changed accordingly. */
export function withUpdateId(stored: StoredUpdate, updateId: string): StoredUpdate {
  const { update, raw } = stored;
  const [kind = ''] = Object.keys(update ?? {});
  const changed = update && ({ [kind]: { value: { ...valueOf(update), updateId } } } as unknown as Update);
  const text = stored.updateId === '' ? raw : raw?.replaceAll(stored.updateId, updateId);
  return { ...stored, updateId, update: changed, raw: text };
}

export class History {
  #updates: StoredUpdate[] = [];
  readonly #byId = new Map<string, StoredUpdate>();
  readonly #byHash = new Map<string, StoredUpdate>();

  add(stored: StoredUpdate): void {
    this.#updates.push(stored);
    if (stored.updateId !== '' && !this.#byId.has(stored.updateId)) this.#byId.set(stored.updateId, stored);
    const hash = hashOf(stored);
    if (hash !== null) this.#byHash.set(hash, stored);
  }

  /**
   * At most `limit` updates with beginExclusive < offset <= endInclusive, beginning at the lowest or at the highest.
   */
  range(beginExclusive: number, endInclusive: number, limit: number, descending = false): readonly StoredUpdate[] {
    const from = this.#firstAfter(beginExclusive);
    const to = this.#firstAfter(endInclusive);
    if (descending) return this.#updates.slice(Math.max(from, to - limit), to).toReversed();
    return this.#updates.slice(from, Math.min(to, from + limit));
  }

  /** @param key an update id, or a transaction hash in lower-case hex */
  find(by: 'id' | 'hash', key: string): StoredUpdate | undefined {
    return (by === 'id' ? this.#byId : this.#byHash).get(key);
  }

  /** Removes everything up to and including the offset. */
  prune(offset: number): void {
    const kept = this.#firstAfter(offset);
    for (const dropped of this.#updates.slice(0, kept)) {
      if (this.#byId.get(dropped.updateId) === dropped) this.#byId.delete(dropped.updateId);
      const hash = hashOf(dropped);
      if (hash !== null && this.#byHash.get(hash) === dropped) this.#byHash.delete(hash);
    }
    this.#updates = this.#updates.slice(kept);
  }

  #firstAfter(offset: number): number {
    let low = 0;
    let high = this.#updates.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#updates[middle]?.offset ?? Infinity) <= offset) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
