/**
 * Latency: the time from handing an update to the ledger's socket until another session's SELECT returns its offset.
 */
import { once } from 'node:events';
import { startChild } from './child.ts';
import { startCost } from './figures/cost.ts';
import { startIndexerProcess, type Variant } from './indexer-process.ts';
import { migrateSchema, schema, type Server } from './postgres.ts';
import { openingTransactions, type Profile } from './replay/profiles.ts';
import type { Recording } from './replay/recording.ts';
import { startReplay } from './replay/replay.ts';

/**
 * Seconds at the same pace that are not counted: they include the opening transactions, and the time in which the
 * engine compiles the program.
 */
const warmUpSeconds = 2;

export interface LatencyOptions {
  readonly server: Server;
  readonly profile: Profile;
  readonly recording: Recording;
  readonly variant: Variant;
  readonly updatesPerSecond: number;
  readonly seconds: number;
  /** Pause of the observer between two polls. */
  readonly pollPauseMs: number;
}

export interface LatencyRun {
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  /** Mean interval of two polls. On average, half of it is included in every value. */
  readonly pollMs: number;
  /** CPU time of the indexer as a share of one core. */
  readonly nodeShare: number | undefined;
  readonly postgresShare: number | undefined;
  readonly updates: number;
}

interface ObservedLatency {
  readonly seenAt: BigInt64Array;
  readonly checkpoints: Float64Array;
  readonly pollMs: number;
}

/** Measures one run at one pace. */
export async function runLatency(options: LatencyOptions): Promise<LatencyRun> {
  const { server, profile, recording, variant, updatesPerSecond, seconds } = options;
  const skippedUpdates = openingTransactions(profile) + Math.round(warmUpSeconds * updatesPerSecond);
  const frames = Math.min(recording.frames, skippedUpdates + Math.round(seconds * updatesPerSecond));
  const database = await migrateSchema(await server.createDatabase());
  const replay = await startReplay({ updates: { path: recording.path, frames }, ledgerEnd: frames, updatesPerSecond });
  const args = [database.url, schema, String(frames), String(options.pollPauseMs)];
  const indexer = startIndexerProcess({ variant, ledgerUrl: replay.url, databaseUrl: database.url, start: 'genesis' });
  const observer = startChild({ file: 'observer.js', args });
  try {
    const cost = startCost({ server, node: indexer.pid });
    const message = Promise.race([once(observer.process, 'message'), indexer.died, observer.died, replay.died]);
    const [observedLatency] = (await message) as [ObservedLatency];
    const { nodeCpu, postgresCpu, seconds: elapsedSeconds } = cost();
    const share = (cpu: number | undefined) => (cpu === undefined ? undefined : cpu / 1e6 / elapsedSeconds);
    const first = await replay.message('first');
    const { microseconds } = await replay.message('sent');
    const delays = delaysOf(microseconds, first.at, observedLatency, skippedUpdates).toSorted((a, b) => a - b);
    return {
      p50: percentile(delays, 50),
      p95: percentile(delays, 95),
      p99: percentile(delays, 99),
      pollMs: observedLatency.pollMs,
      nodeShare: share(nodeCpu),
      postgresShare: share(postgresCpu),
      updates: delays.length,
    };
  } finally {
    await observer.stop();
    await indexer.stop();
    await replay.stop();
    await database.drop();
  }
}

/** Milliseconds per update. Frame k has offset k + 1. */
function delaysOf(
  sentTimes: Float64Array,
  startedAt: bigint,
  observedLatency: ObservedLatency,
  skippedUpdates: number,
): Float64Array {
  const delays = new Float64Array(sentTimes.length - skippedUpdates);
  let seenIndex = 0;
  for (let frame = 0; frame < sentTimes.length; frame += 1) {
    while ((observedLatency.checkpoints[seenIndex] ?? Number.POSITIVE_INFINITY) < frame + 1) seenIndex += 1;
    const visibleMs = Number((observedLatency.seenAt[seenIndex] ?? 0n) - startedAt) / 1e6;
    if (frame >= skippedUpdates) delays[frame - skippedUpdates] = visibleMs - (sentTimes[frame] ?? 0) / 1e3;
  }
  return delays;
}

/** @param sortedTimes in increasing order */
export function percentile(sortedTimes: Float64Array, percent: number): number {
  return sortedTimes[Math.min(sortedTimes.length - 1, Math.floor((sortedTimes.length * percent) / 100))] ?? Number.NaN;
}
