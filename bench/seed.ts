/** The seed from socket to publication: entries of active contracts into an empty database. */
import { startCost, type Cost } from './figures/cost.ts';
import { digestDifference, digestOf, type Digest } from './figures/digest.ts';
import { startIndexerProcess, type Variant } from './indexer-process.ts';
import { migrateSchema, type RunDatabase, type Server } from './postgres.ts';
import { peakRssMiB } from './figures/process-cpu.ts';
import { waitForGoal } from './progress.ts';
import type { Recording } from './replay/recording.ts';
import { startReplay } from './replay/replay.ts';

export interface SeedOptions {
  readonly server: Server;
  readonly recording: Recording;
  readonly contracts: number;
  readonly variant: Variant;
  readonly reference?: Digest;
}

export interface SeedRun extends Cost {
  /** Number of contracts, named `events` so that all rates are computed in the same way. */
  readonly events: number;
  readonly peakRssMiB: number | undefined;
  readonly error: string | undefined;
}

/** Measures one run, from the first entry sent to the commit that publishes the seed. */
export async function runSeed(options: SeedOptions, keep?: (database: RunDatabase) => Promise<void>): Promise<SeedRun> {
  const { server, recording, contracts, variant } = options;
  const database = await server.createDatabase();
  if (variant.program === undefined) await migrateSchema(database);
  const replay = await startReplay({
    activeContracts: { path: recording.path, frames: contracts },
    ledgerEnd: contracts,
  });
  const indexer = startIndexerProcess({ variant, ledgerUrl: replay.url, databaseUrl: database.url, start: 'seed' });
  try {
    const first = await Promise.race([replay.message('first'), indexer.died]);
    const cost = startCost({ server, node: indexer.pid, replay: replay.pid });
    const last = await waitForGoal(database.url, indexer, {});
    const run = { ...cost(), seconds: Number(last.at - first.at) / 1e9, peakRssMiB: peakRssMiB(indexer.pid) };
    await indexer.stop();
    const expected = { updates: 0, contracts, exercises: 0, active: contracts, events: contracts };
    const error = digestDifference(await digestOf(database.url), expected, options.reference);
    await keep?.(database);
    return { ...run, events: contracts, error };
  } finally {
    await indexer.stop();
    await replay.stop();
    await database.drop();
  }
}
