/** The workloads. A profile determines the frames; the caller chooses how many of them are replayed. */

export interface Profile {
  readonly name: string;
  /** Number of transactions of a full run, and of a quick one, after the opening transactions. */
  readonly transactions: number;
  readonly quickTransactions: number;
  /** Number of triples per transaction. A triple is a non-consuming exercise, a consuming one and a create. */
  readonly triples: number;
  /** Number of non-consuming exercises in addition to the triples. */
  readonly extraExercises: number;
  /** Approximate bytes of a create argument as JSON. */
  readonly payloadBytes: number;
  readonly templates: number;
  /** Number of contracts that the opening transactions create. The same number is active at any later time. */
  readonly pool: number;
  /** Number of events of one large transaction in the middle; 0 if there is none. */
  readonly hugeEvents: number;
}

const base: Profile = {
  name: 'default',
  transactions: 300_000,
  quickTransactions: 20_000,
  triples: 1,
  extraExercises: 0,
  payloadBytes: 600,
  templates: 12,
  pool: 10_000,
  hugeEvents: 0,
};

const list: readonly Profile[] = [
  base,
  { ...base, name: 'tiny', payloadBytes: 40 },
  { ...base, name: 'large', transactions: 60_000, quickTransactions: 6_000, payloadBytes: 20_000, pool: 1_000 },
  { ...base, name: 'wide', transactions: 4_500, quickTransactions: 450, triples: 66, extraExercises: 2 },
  { ...base, name: 'templates', templates: 500 },
  { ...base, name: 'huge', transactions: 3_000, quickTransactions: 300, pool: 1_000, hugeEvents: 100_000 },
];

/** Names of all profiles, the default first. */
export const profileNames: readonly string[] = list.map(({ name }) => name);

/** @throws Error if there is no such profile */
export function profileNamed(name: string): Profile {
  const namedProfile = list.find((profile) => profile.name === name);
  if (namedProfile === undefined) throw new Error(`unknown profile "${name}": expected ${profileNames.join(', ')}`);
  return namedProfile;
}

/** Number of creates in one opening transaction. */
const openingCreates = 100;

/** Number of transactions that fill the pool before the workload begins. */
export function openingTransactions(profile: Profile): number {
  return Math.ceil(profile.pool / openingCreates);
}

/** Number of creates in opening transaction `index` (from 0). */
export function openingSize(profile: Profile, index: number): number {
  return Math.min(openingCreates, profile.pool - index * openingCreates);
}

/** Expected content of the tables after the first `transactions` of the workload, computed without the indexer. */
export interface ExpectedCounts {
  /** Number of updates. Also the last offset, because the recording has no gaps. */
  readonly updates: number;
  readonly contracts: number;
  readonly exercises: number;
  /**
   * Number of contracts that are still active. Every archive ends an active contract, and every triple replaces one.
   */
  readonly active: number;
  readonly events: number;
}

/**
 * The counts after a number of transactions of the workload. The huge transaction, if there is one, is in the middle of
 * `recorded`.
 */
export function expectedAfter(profile: Profile, transactions: number): ExpectedCounts {
  const hugeEventCount = hugeAt(profile, transactions) === undefined ? 0 : Math.floor(profile.hugeEvents / 3);
  const triples = (transactions - (hugeEventCount > 0 ? 1 : 0)) * profile.triples + hugeEventCount;
  const extraEvents = (transactions - (hugeEventCount > 0 ? 1 : 0)) * profile.extraExercises;
  const contracts = profile.pool + triples;
  const exercises = 2 * triples + extraEvents;
  return {
    updates: openingTransactions(profile) + transactions,
    contracts,
    exercises,
    active: profile.pool,
    events: contracts + exercises,
  };
}

/** Index of the huge transaction. It comes early, so that every number of transactions includes it. */
export function hugeAt(profile: Profile, transactions: number): number | undefined {
  return profile.hugeEvents > 0 && transactions > 100 ? 100 : undefined;
}

/** Number of events up to and including an offset, for rates over a part of a run. */
export function eventsUpTo(profile: Profile, offset: number): number {
  const openingCount = openingTransactions(profile);
  if (offset <= openingCount) return Math.min(profile.pool, offset * openingCreates);
  return expectedAfter(profile, offset - openingCount).events;
}
