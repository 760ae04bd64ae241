/**
 * Runs a rebuild: fills the new schema, writes its progress to table `jobs`, waits while it is paused there, and hands
 * over when it has caught up.
 */
import { pause } from '../../config/pause.ts';
import { IndexerError, toIndexerError } from '../../errors/indexer-error.ts';
import type { Database } from '../../store/connection/database.ts';
import { readStream, type StreamFacts } from '../../store/history/maintenance.ts';
import { getJob, isDue, updateJob } from '../../store/history/jobs.ts';
import type { JobProgress } from '../../model/stream.ts';
import { runHandover, type HandoverResult, type Handover } from './handover.ts';

export interface Rebuild extends Handover {
  /** Whether to exit when the schema has caught up, without the swap. */
  readonly noSwap: boolean;
  /** Whether the source was already closed: the remaining steps need no ledger. */
  readonly isSourceClosed?: boolean;
}

/** The outcome of the rebuild. */
export type RebuildOutcome = HandoverResult | 'caught up' | 'cancelled' | 'interrupted';

/** Interval of progress checks, milliseconds. Every fourth check stores the progress. */
const pollMs = 250;
const pollsPerUpdate = 4;
/** Number of offsets behind the live stream that counts as caught up. The rest is read while the writer is stopped. */
const caughtUpOffsets = 200;
/** Maximum number of attempts to swap. The delay between them grows up to a limit. */
const attempts = 40;
const longestPauseMs = 15_000;

/** Runs the rebuild. @throws IndexerError REBUILD_SWAP_BLOCKED after the last attempt, or the error that ended it */
export async function rebuild(options: Rebuild): Promise<RebuildOutcome> {
  const { follower, noSwap, logger, live: liveDatabase } = options;
  try {
    for (let attempt = 0; attempt < attempts; attempt += 1) {
      const catchUpEnd = options.isSourceClosed === true ? 'caught up' : await waitUntilCaughtUp(options);
      if (catchUpEnd !== 'caught up' || noSwap) return catchUpEnd;
      const result = await runHandover(options);
      if (typeof result !== 'string') return result;
      if (options.stop.aborted) return 'interrupted';
      const delayMs = Math.min(longestPauseMs, 250 * 1.4 ** attempt);
      logger.warn({ blockedBy: result, delayMs }, 'swap blocked, retrying');
      await liveDatabase.withClient((client) => updateJob(client, 'rebuild', { problem: result }));
      if (options.isSourceClosed !== true) follower.start();
      await pause(delayMs, options.stop);
    }
  } catch (thrown) {
    const error = toIndexerError(thrown);
    if (options.stop.aborted) return 'interrupted';
    await recordFailure(liveDatabase, error);
    throw error;
  }
  const error = new IndexerError(`the new schema has caught up, and the swap was blocked ${String(attempts)} times`, {
    code: 'REBUILD_SWAP_BLOCKED',
  });
  await recordFailure(liveDatabase, error);
  throw error;
}

/** Stores the failure for readers of table `jobs`. If this fails, the exit code still reports the failure. */
async function recordFailure(liveDatabase: Database, { message }: IndexerError): Promise<void> {
  const failed = { state: 'failed', problem: message, perSecond: null } as const;
  await liveDatabase.withClient((client) => updateJob(client, 'rebuild', failed)).catch(() => undefined);
}

async function waitUntilCaughtUp(options: Rebuild): Promise<'caught up' | 'cancelled' | 'interrupted'> {
  const { live: liveDatabase, follower, stop, logger } = options;
  follower.start();
  const speedMeter = new Speed();
  for (let pollCount = 0; !stop.aborted; pollCount += 1) {
    const problem = follower.trouble();
    const liveStream = await readStream(liveDatabase);
    const targetStream = await readStream(follower.database);
    const { progress, caughtUp } = progressOf(liveStream, targetStream);
    if (pollCount % pollsPerUpdate === 0 || caughtUp) {
      const jobUpdate = { ...progress, perSecond: speedMeter.of(progress), problem: problem ?? null };
      if (!(await liveDatabase.withClient((client) => updateJob(client, 'rebuild', jobUpdate)))) {
        if ((await rest(options)) === 'cancelled') return 'cancelled';
        continue;
      }
      if (pollCount % (pollsPerUpdate * 10) === 0) logger.info(jobUpdate, 'rebuilding');
    }
    if (caughtUp) return 'caught up';
    await pause(pollMs, stop);
  }
  return 'interrupted';
}

/** Waits while the job is paused, without reading or writing. Ends if the job is cancelled. */
async function rest({ live: liveDatabase, follower, logger, stop }: Rebuild): Promise<'cancelled' | 'due'> {
  logger.info('rebuild is paused; to resume it: ledger-indexer jobs resume rebuild');
  await follower.stop();
  while (!stop.aborted) {
    const job = await liveDatabase.withClient((client) => getJob(client, 'rebuild'));
    if (job === undefined) return 'cancelled';
    if (isDue(job)) break;
    await pause(pollMs, stop);
  }
  follower.start();
  return 'due';
}

function progressOf(
  liveStream: StreamFacts | undefined,
  targetStream: StreamFacts | undefined,
): { readonly progress: Pick<JobProgress, 'step' | 'unit' | 'done' | 'total'>; readonly caughtUp: boolean } {
  const liveCheckpoint = liveStream?.checkpoint ?? 0;
  if (targetStream?.seeded !== true || targetStream.checkpoint === null) {
    const contractCount = targetStream?.seedContracts ?? 0;
    return { progress: { step: 'seeding', unit: 'contracts', done: contractCount, total: null }, caughtUp: false };
  }
  const startOffset = Math.min(targetStream.seedOffset ?? 0, liveCheckpoint);
  const caughtUp = targetStream.checkpoint >= liveCheckpoint - caughtUpOffsets;
  const doneOffsets = Math.max(0, Math.min(targetStream.checkpoint, liveCheckpoint) - startOffset);
  const progress = {
    step: caughtUp ? 'caught up' : 'following',
    unit: 'offsets',
    done: doneOffsets,
    total: liveCheckpoint - startOffset,
  } as const;
  return { progress, caughtUp };
}

/** Computes the speed of the current step from the progress since the last call. */
class Speed {
  #step: string | null = null;
  #done = 0;
  #at = performance.now();

  of({ step, done: doneCount }: Pick<JobProgress, 'step' | 'done'>): number | null {
    const now = performance.now();
    const seconds = (now - this.#at) / 1000;
    const perSecond = step === this.#step && seconds > 0 ? Math.max(0, doneCount - this.#done) / seconds : null;
    [this.#step, this.#done, this.#at] = [step, doneCount, now];
    return perSecond;
  }
}
