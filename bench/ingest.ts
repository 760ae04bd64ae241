/**
 * The indexer from socket to committed checkpoint: an update stream at full speed into an empty database, or into a
 * given one.
 */
import type { Child } from './child.ts';
import { startCost, type Cost } from './figures/cost.ts';
import { digestDifference, digestOf, type Digest } from './figures/digest.ts';
import { startWeighing, type Weight, type MeasureMoment } from './figures/weight.ts';
import { startIndexerProcess, type Variant } from './indexer-process.ts';
import { migrateSchema, schema, type RunDatabase, type Server } from './postgres.ts';
import { peakRssMiB } from './figures/process-cpu.ts';
import {
  eventsUpTo,
  expectedAfter,
  openingTransactions,
  type ExpectedCounts,
  type Profile,
} from './replay/profiles.ts';
import { waitForGoal, type Sample } from './progress.ts';
import type { Recording } from './replay/recording.ts';
import { startReplay, type Replay } from './replay/replay.ts';

const warmUpMs = 1_000;

export interface IngestOptions {
  readonly server: Server;
  readonly profile: Profile;
  readonly recording: Recording;
  readonly transactions: number;
  readonly variant: Variant;
  /** Database that is copied for the run; default: an empty one. */
  readonly template?: RunDatabase;
  /** Counts of the template, which are added to those of the profile. */
  readonly preloaded?: Pick<ExpectedCounts, 'contracts' | 'active'>;
  readonly reference?: Digest;
  readonly cpuProfile?: string | undefined;
  /** Set to measure the storage and log of the run. */
  readonly weigh?: MeasureMoment;
  /** Set to skip the comparison of the contents, but not the check that the run is complete. */
  readonly unchecked?: boolean;
  /** Runs concurrently with the measurement. */
  readonly disturb?: (indexer: Child, databaseUrl: string) => Promise<void>;
  /** Runs after the measurement, while the indexer is still running. */
  readonly afterwards?: () => Promise<void>;
  readonly onSample?: (sample: Sample, indexer: Child) => void;
}

export interface IngestRun extends Cost {
  readonly events: number;
  /** The measurement without its first second; undefined if the run was too short. */
  readonly steady: { readonly events: number; readonly cost: Cost } | undefined;
  readonly peakRssMiB: number | undefined;
  readonly weight: Weight | undefined;
  readonly error: string | undefined;
}

/** Measures one run. @param keep gets the finished database before it is dropped */
export async function runIngest(
  options: IngestOptions,
  keep?: (database: RunDatabase) => Promise<void>,
): Promise<IngestRun> {
  const { server, profile, recording, transactions, variant, template } = options;
  const frames = openingTransactions(profile) + transactions;
  const database = await server.createDatabase(template);
  // Another build migrates the database to its own schema.
  if (variant.program === undefined && template === undefined) await migrateSchema(database, variant.env);
  const replay = await startReplay({ updates: { path: recording.path, frames }, ledgerEnd: frames });
  const indexer = startIndexerProcess({
    variant,
    ledgerUrl: replay.url,
    databaseUrl: database.url,
    start: 'genesis',
    cpuProfile: options.cpuProfile,
  });
  try {
    const { weigh: finishWeighing, ...run } = await measuredRun(options, { database, replay, indexer, frames });
    await options.afterwards?.();
    await indexer.stop();
    const weight = await finishWeighing?.();
    const error = await checked(options, database);
    await keep?.(database);
    return { ...run, weight, error };
  } finally {
    await indexer.stop();
    await replay.stop();
    await database.drop();
  }
}

interface RunParts {
  readonly database: RunDatabase;
  readonly replay: Replay;
  readonly indexer: Child;
  readonly frames: number;
}

async function measuredRun(options: IngestOptions, { database, replay, indexer, frames }: RunParts) {
  const { server, profile, weigh: measureMoment } = options;
  const watched = { server, node: indexer.pid, replay: replay.pid };
  const first = await Promise.race([replay.message('first'), indexer.died]);
  const totalCost = startCost(watched);
  const finishWeighing =
    measureMoment === undefined
      ? undefined
      : await startWeighing({ server, url: database.url, schema, when: measureMoment });
  const disturbance = options.disturb?.(indexer, database.url);
  let steadyWindow: { readonly cost: () => Cost; readonly from: number } | undefined;
  const last = await waitForGoal(database.url, indexer, {
    checkpoint: frames,
    onSample: (sample) => {
      const isWarmUp = Number(sample.at - first.at) / 1e6 < warmUpMs;
      if (!isWarmUp && steadyWindow === undefined) steadyWindow = { cost: startCost(watched), from: sample.reached };
      options.onSample?.(sample, indexer);
    },
  });
  const cost = totalCost();
  await disturbance;
  const { events } = expectedAfter(profile, options.transactions);
  const openingEvents = steadyWindow === undefined ? 0 : events - eventsUpTo(profile, steadyWindow.from);
  return {
    ...cost,
    seconds: Number(last.at - first.at) / 1e9,
    events,
    // A rate over less than a third of the events would not be meaningful.
    steady:
      steadyWindow === undefined || openingEvents < events / 3
        ? undefined
        : { events: openingEvents, cost: steadyWindow.cost() },
    peakRssMiB: peakRssMiB(indexer.pid),
    weigh: finishWeighing,
  };
}

async function checked(options: IngestOptions, database: RunDatabase): Promise<string | undefined> {
  if (options.unchecked === true) return undefined;
  const expected = expectedAfter(options.profile, options.transactions);
  const { contracts = 0, active: activeCount = 0 } = options.preloaded ?? {};
  const expectedTotals = {
    ...expected,
    contracts: expected.contracts + contracts,
    active: expected.active + activeCount,
  };
  // Another build may have another schema, so only the counts can be compared.
  const reference = options.variant.program === undefined ? options.reference : undefined;
  return digestDifference(await digestOf(database.url), expectedTotals, reference);
}
