/**
 * A ledger's history as a pure function of a seed: what its update stream delivers, in order, and what is active at
 * every offset. Written from the description of the wire alone; the product's own code has no part in it.
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
  /** What it is called in the frame, and what it says. */
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
  /** What `contractEntry` says, and its JSON. */
  readonly told: Fields;
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
  // Whoever has read everything stands at the end of the ledger, whatever came last.
  builder.checkpoint();
  return { seed, items: builder.items, standings: builder.standings };
}

/** What the active contracts stream tells at an offset, in an order of its own that is always the same. */
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
 * The ledger end when the first `count` items are shown: offsets up to the next item are taken as well, by rejected
 * commands and by what this reader does not see.
 */
export function endAfter(history: History, count: number): number {
  const next = history.items[count]?.offset ?? 0;
  return Math.max(offsetAfter(history, count), next - 1);
}
