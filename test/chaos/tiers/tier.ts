/** A tier: one way to disturb the indexer. The suite runs tiers one after the other into one report. */
import type { ChaosServer } from '../databases.ts';
import type { Report } from '../report.ts';

export interface TierContext {
  readonly server: ChaosServer;
  readonly report: Report;
  /** Runs at the same time. */
  readonly lanes: number;
  /** First seed; the tier counts up from it. */
  readonly firstSeed: number;
  /** How many seeds, for tiers that have them. */
  readonly seeds: number;
  /** Every how many crash points one is tried; 1 is all of them. */
  readonly stride: number;
  /** The one crash point to try, as `postgres-up-17`, or part of the names of injected bugs; absent: all. */
  readonly point: string | undefined;
  /** Part of the name of a fault that each seed has while it follows; absent: one after the other. */
  readonly fault?: string | undefined;
  /** Injected bugs have to be detected by tests of the fast tier; those without such a test count as not detected. */
  readonly fastOnly: boolean;
  /** Longest time of a step before it counts as a failure. */
  readonly stepTimeoutMs: number;
  /** Prints the progress. */
  readonly say: (line: string) => void;
}

export interface Tier {
  readonly name: string;
  /** One line for the usage text. */
  readonly what: string;
  readonly run: (context: TierContext) => Promise<void>;
}

/** Runs `work` for each item, so many at the same time. */
export async function inLanes<T>(lanes: number, items: Iterable<T>, work: (item: T) => Promise<void>): Promise<void> {
  const iterator = items[Symbol.iterator]();
  const lane = async (): Promise<void> => {
    for (let next = iterator.next(); next.done !== true; next = iterator.next()) await work(next.value);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}
