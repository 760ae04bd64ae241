/**
 * A ledger's history as a pure function of a seed: the frames of its update stream, in order, and the active contracts
 * at every offset. Written from the description of the wire alone, without code of the product.
 */
import { HistoryBuilder } from './history-builder.ts';
import type { Fields } from './history-events.ts';
import { Seeded } from './random.ts';

/** One frame of the update stream. */
export interface Item {
  readonly offset: number;
  readonly kind: 'transaction' | 'reassignment' | 'topology' | 'unknown' | 'checkpoint';
  /** Undefined for an OffsetCheckpoint. */
  readonly updateId: string | undefined;
  readonly events: number;
  /** Its key in the frame; `value` is its content. */
  readonly name: string;
  readonly value: Fields;
  readonly frame: string;
}

/** A contract active on a synchronizer, or in flight from one, over a range of offsets. */
export interface Standing {
  readonly contractId: string;
  /** Where it is active; undefined while it is in flight. */
  readonly synchronizer: string | undefined;
  /** First offset at which it holds. */
  readonly from: number;
  /** First offset at which it does not hold any more; undefined while it holds. */
  to: number | undefined;
  readonly workflowId: string;
  /** Arguments of `contractEntry`; `entry` is the resulting JSON. */
  readonly contractEntry: Fields;
  readonly entry: string;
}

export interface History {
  readonly seed: number;
  readonly items: readonly Item[];
  readonly standings: readonly Standing[];
}

export interface HistorySize {
  /** Updates, without the OffsetCheckpoints between them. */
  readonly updates: number;
}

/** The same seed and size give the same history; a larger size continues a smaller one. */
export function historyOf(seed: number, size: HistorySize): History {
  const builder = new HistoryBuilder(new Seeded(seed));
  for (let update = 0; update < size.updates; update += 1) builder.step();
  // A reader that has read everything is at the ledger end, whatever the last update was.
  builder.checkpoint();
  return { seed, items: builder.items, standings: builder.standings };
}

/** The entries of the active contracts stream at an offset, always in the same order. */
export function standingAt(history: History, offset: number): readonly Standing[] {
  return history.standings.filter(({ from, to }) => from <= offset && (to === undefined || to > offset));
}

/** The active set at an offset as sorted `contract id@synchronizer`. */
export function activeSetAt(history: History, offset: number): readonly string[] {
  return standingAt(history, offset)
    .flatMap(({ contractId, synchronizer }) => (synchronizer === undefined ? [] : [`${contractId}@${synchronizer}`]))
    .sort();
}

/** Offset of the newest of the first `count` items. */
export function offsetAfter({ items }: History, count: number): number {
  return items[count - 1]?.offset ?? 0;
}

/**
 * The ledger end when the first `count` items are visible: rejected commands and updates outside the rights of this
 * reader also take offsets, up to the next item.
 */
export function endAfter(history: History, count: number): number {
  const next = history.items[count]?.offset ?? 0;
  return Math.max(offsetAfter(history, count), next - 1);
}
