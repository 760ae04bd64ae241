/**
 * A tier applies one type of fault to the indexer. The suite runs its tiers one after the other and reports them
 * together.
 */
import type { ChaosServer } from '../databases.ts';
import type { Report } from '../report.ts';

export interface TierContext {
  readonly server: ChaosServer;
  readonly report: Report;
  /** Number of concurrent runs. */
  readonly lanes: number;
  /** First seed; the following seeds are the next numbers. */
  readonly firstSeed: number;
  /** Number of seeds, for tiers that use seeds. */
  readonly seeds: number;
  /** Every `stride`th crash point is tried; 1 tries all of them. */
  readonly stride: number;
  /** The only crash point to try, such as `postgres-up-17`, or part of the names of injected bugs; absent: all. */
  readonly point: string | undefined;
  /**
   * Part of the name of a fault that every seed gets while it follows; if absent, seeds take turns through all faults.
   */
  readonly fault?: string | undefined;
  /** Whether tests of the fast tier must detect the injected bugs. A bug without such a test counts as not detected. */
  readonly fastOnly: boolean;
  /** Time after which a step counts as failed. */
  readonly stepTimeoutMs: number;
  /** Prints a line about the progress. */
  readonly say: (line: string) => void;
}

export interface ChaosTier {
  readonly name: string;
  /** Description for the usage text, in one line. */
  readonly what: string;
  readonly run: (context: TierContext) => Promise<void>;
}

/** Runs `work` for each item, with `lanes` concurrent calls. */
export async function runInLanes<T>(
  lanes: number,
  items: Iterable<T>,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const iterator = items[Symbol.iterator]();
  const lane = async (): Promise<void> => {
    for (let next = iterator.next(); next.done !== true; next = iterator.next()) await work(next.value);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}
