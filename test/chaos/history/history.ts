/**
 * The history of a ledger as a pure function of a seed: the frames of its update stream in order, and the active
 * contracts at every offset. Written only from the description of the wire format, without code of the product.
 */
import { HistoryBuilder } from './history-builder.ts';
import type { Fields } from './history-events.ts';
import { SeededRandom } from './random.ts';

/** One frame of the update stream. */
export interface Item {
  readonly offset: number;
  readonly kind: 'transaction' | 'reassignment' | 'topology' | 'unknown' | 'checkpoint';
  /** Undefined for an OffsetCheckpoint. */
  readonly updateId: string | undefined;
  readonly events: number;
  /** The key of the item in its frame; `value` is the content. */
  readonly name: string;
  readonly value: Fields;
  readonly frame: string;
}

/** A contract active on a synchronizer, or in flight from one, over a range of offsets. */
export interface ActiveContract {
  readonly contractId: string;
  /** Synchronizer on which the contract is active; undefined while it is in flight. */
  readonly synchronizer: string | undefined;
  /** First offset of the range. */
  readonly from: number;
  /** First offset after the range; undefined while the range is open. */
  to: number | undefined;
  readonly workflowId: string;
  /** Argument of `contractEntry` in the entry; `entry` is the entry as JSON. */
  readonly contractEntry: Fields;
  readonly entry: string;
}

export interface History {
  readonly seed: number;
  readonly items: readonly Item[];
  readonly standings: readonly ActiveContract[];
}

export interface HistorySize {
  /** Number of updates, without the OffsetCheckpoints between them. */
  readonly updates: number;
}

/** The same seed and size give the same history; a larger size continues a smaller one. */
export function historyOf(seed: number, size: HistorySize): History {
  const builder = new HistoryBuilder(new SeededRandom(seed));
  for (let update = 0; update < size.updates; update += 1) builder.step();
  // A reader that has read all items must be at the ledger end, whatever kind the last update has.
  builder.checkpoint();
  return { seed, items: builder.items, standings: builder.standings };
}

/** The entries of the active-contracts stream at an offset, always in the same order. */
export function activeContractsAt(history: History, offset: number): readonly ActiveContract[] {
  return history.standings.filter(({ from, to }) => from <= offset && (to === undefined || to > offset));
}

/** The active contracts at an offset, as sorted `contract id@synchronizer`. */
export function activeSetAt(history: History, offset: number): readonly string[] {
  return activeContractsAt(history, offset)
    .flatMap(({ contractId, synchronizer }) => (synchronizer === undefined ? [] : [`${contractId}@${synchronizer}`]))
    .sort();
}

/** Offset of the newest of the first `count` items. */
export function offsetAfter({ items }: History, count: number): number {
  return items[count - 1]?.offset ?? 0;
}

/**
 * The ledger end when the first `count` items are visible. Rejected commands, and updates that this reader may not see,
 * also use offsets up to the next item.
 */
export function endAfter(history: History, count: number): number {
  const next = history.items[count]?.offset ?? 0;
  return Math.max(offsetAfter(history, count), next - 1);
}
