/**
 * Injects faults at intervals: the demo drops its sockets, stalls its streams, prunes the ledger or slows the database,
 * and recovers.
 */
import type { Random } from '../wire/random.ts';
import type { Sandbox } from '../server/sandbox.ts';

/** The faults, by their names in the log. */
export type ChaosFault = 'socket dropped' | 'stream stalled' | 'ledger pruned' | 'database slowed';

export interface ChaosOptions {
  readonly sandbox: Pick<Sandbox, 'faults' | 'ledger'>;
  readonly random: Random;
  /** Slows the database for this many milliseconds. Absent if the demo did not start the database. */
  readonly slowDatabase?: (ms: number) => Promise<void>;
  /** Called at the start of every fault. */
  readonly report?: (fault: ChaosFault) => void;
  /** Minimum and maximum time between two faults, milliseconds; default 15 to 45 s. */
  readonly everyMs?: readonly [number, number];
}

const chaosFaults: readonly ChaosFault[] = ['socket dropped', 'stream stalled', 'ledger pruned', 'database slowed'];
const stallMs = 6_000;
const slowMs = 3_000;
/** Number of offsets that a prune keeps; far more than the lag of a healthy indexer. */
const keptOffsets = 5_000;
const updatesPath = '/v2/updates';

/** Starts injecting faults. @returns a function that stops this and repairs the current fault */
export function startChaos(options: ChaosOptions): () => void {
  const { sandbox, random, report } = options;
  const [minMs, maxMs] = options.everyMs ?? [15_000, 45_000];
  let timer: NodeJS.Timeout;
  let round = random.between(0, chaosFaults.length - 1);
  const next = (): void => {
    timer = setTimeout(
      () => {
        const fault = chaosFaults[round % chaosFaults.length] ?? 'socket dropped';
        round += 1;
        if (faultActions[fault](options)) report?.(fault);
        next();
      },
      random.between(minMs, maxMs),
    ).unref();
  };
  next();
  return () => {
    clearTimeout(timer);
    sandbox.faults.stall = undefined;
    sandbox.faults.cut = undefined;
  };
}

/** Functions that inject each kind of fault. They return false if there is no target for it. */
const faultActions: Readonly<Record<ChaosFault, (options: ChaosOptions) => boolean>> = {
  'socket dropped': ({ sandbox: { faults } }) => {
    faults.cut = { path: updatesPath, times: 1 };
    return true;
  },
  'stream stalled': ({ sandbox: { faults } }) => {
    faults.stall = { path: updatesPath, afterFrames: 0 };
    setTimeout(() => {
      faults.stall = undefined;
    }, stallMs).unref();
    return true;
  },
  'ledger pruned': ({ sandbox: { ledger } }) => {
    const to = ledger.ledgerEnd() - keptOffsets;
    if (to <= ledger.prunedTo()) return false;
    ledger.pruneTo(to);
    return true;
  },
  'database slowed': ({ slowDatabase }) => {
    if (slowDatabase === undefined) return false;
    // The demo continues if a fault cannot be injected.
    slowDatabase(slowMs).catch(() => undefined);
    return true;
  },
};
