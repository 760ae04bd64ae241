/** The workloads. A profile determines the frames; the caller chooses how many of them are replayed. */

export interface Profile {
  readonly name: string;
  /** Transactions of a full run and of a quick one, after the opening transactions. */
  readonly transactions: number;
  readonly quickTransactions: number;
  /** Number of triples per transaction: a non-consuming exercise, a consuming one and a create. */
  readonly triples: number;
  /** Non-consuming exercises in addition to the triples. */
  readonly extraExercises: number;
  /** Approximate bytes of a create argument as JSON. */
  readonly payloadBytes: number;
  readonly templates: number;
  /** Contracts that the opening transactions create; the same number is active at any later time. */
  readonly pool: number;
  /** Events of one special transaction in the middle; 0 for none. */
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
  const found = list.find((profile) => profile.name === name);
  if (found === undefined) throw new Error(`unknown profile "${name}": expected ${profileNames.join(', ')}`);
  return found;
}

/** Creates of one opening transaction. */
const openingCreates = 100;

/** Transactions that fill the pool before the workload begins. */
export function openingTransactions(profile: Profile): number {
  return Math.ceil(profile.pool / openingCreates);
}

/** Creates of opening transaction `index` (from 0). */
export function openingSize(profile: Profile, index: number): number {
  return Math.min(openingCreates, profile.pool - index * openingCreates);
}

/** Expected content of the tables after the first `transactions` of the workload, computed without the indexer. */
export interface Expected {
  /** Also the last offset: the recording has no gaps. */
  readonly updates: number;
  readonly contracts: number;
  readonly exercises: number;
  /** Contracts still active. Every archive hits an active contract, every triple replaces one. */
  readonly active: number;
  readonly events: number;
}

/** The counts after a number of transactions of the workload; the huge one, if any, is in the middle of `recorded`. */
export function expectedAfter(profile: Profile, transactions: number): Expected {
  const huge = hugeAt(profile, transactions) === undefined ? 0 : Math.floor(profile.hugeEvents / 3);
  const triples = (transactions - (huge > 0 ? 1 : 0)) * profile.triples + huge;
  const extra = (transactions - (huge > 0 ? 1 : 0)) * profile.extraExercises;
  const contracts = profile.pool + triples;
  const exercises = 2 * triples + extra;
  return {
    updates: openingTransactions(profile) + transactions,
    contracts,
    exercises,
    active: profile.pool,
    events: contracts + exercises,
  };
}

/** Index of the huge transaction, which comes early so that every number of transactions includes it. */
export function hugeAt(profile: Profile, transactions: number): number | undefined {
  return profile.hugeEvents > 0 && transactions > 100 ? 100 : undefined;
}

/** Events up to and including an offset, for rates over a part of a run. */
export function eventsUpTo(profile: Profile, offset: number): number {
  const opening = openingTransactions(profile);
  if (offset <= opening) return Math.min(profile.pool, offset * openingCreates);
  return expectedAfter(profile, offset - opening).events;
}
