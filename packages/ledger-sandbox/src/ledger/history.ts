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
export function withUpdateId(storedUpdate: StoredUpdate, updateId: string): StoredUpdate {
  const { update, raw } = storedUpdate;
  const [kind = ''] = Object.keys(update ?? {});
  const changedUpdate = update && ({ [kind]: { value: { ...valueOf(update), updateId } } } as unknown as Update);
  const text = storedUpdate.updateId === '' ? raw : raw?.replaceAll(storedUpdate.updateId, updateId);
  return { ...storedUpdate, updateId, update: changedUpdate, raw: text };
}

export class History {
  #updates: StoredUpdate[] = [];
  readonly #byId = new Map<string, StoredUpdate>();
  readonly #byHash = new Map<string, StoredUpdate>();

  add(storedUpdate: StoredUpdate): void {
    this.#updates.push(storedUpdate);
    if (storedUpdate.updateId !== '' && !this.#byId.has(storedUpdate.updateId))
      this.#byId.set(storedUpdate.updateId, storedUpdate);
    const hash = hashOf(storedUpdate);
    if (hash !== null) this.#byHash.set(hash, storedUpdate);
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
  find(keyKind: 'id' | 'hash', key: string): StoredUpdate | undefined {
    return (keyKind === 'id' ? this.#byId : this.#byHash).get(key);
  }

  /** Removes everything up to and including the offset. */
  prune(offset: number): void {
    const firstKept = this.#firstAfter(offset);
    for (const droppedUpdate of this.#updates.slice(0, firstKept)) {
      if (this.#byId.get(droppedUpdate.updateId) === droppedUpdate) this.#byId.delete(droppedUpdate.updateId);
      const hash = hashOf(droppedUpdate);
      if (hash !== null && this.#byHash.get(hash) === droppedUpdate) this.#byHash.delete(hash);
    }
    this.#updates = this.#updates.slice(firstKept);
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
