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
import { handOver, type HandedOver, type Handover } from './handover.ts';

export interface Rebuild extends Handover {
  /** Whether to exit when the schema has caught up, without the swap. */
  readonly noSwap: boolean;
  /** Whether the source was already closed: the remaining steps need no ledger. */
  readonly isSourceClosed?: boolean;
}

/** The outcome of the rebuild. */
export type Outcome = HandedOver | 'caught up' | 'cancelled' | 'interrupted';

/** Interval of progress checks, milliseconds. Every fourth check stores the progress. */
const lookMs = 250;
const looksPerNote = 4;
/** Number of offsets behind the live stream that counts as caught up. The rest is read while the writer is stopped. */
const caughtUpOffsets = 200;
/** Maximum number of attempts to swap. The delay between them grows up to a limit. */
const attempts = 40;
const longestPauseMs = 15_000;

/** Runs the rebuild. @throws IndexerError REBUILD_SWAP_BLOCKED after the last attempt, or the error that ended it */
export async function rebuild(options: Rebuild): Promise<Outcome> {
  const { follower, noSwap, logger, live } = options;
  try {
    for (let tried = 0; tried < attempts; tried += 1) {
      const reached = options.isSourceClosed === true ? 'caught up' : await untilCaughtUp(options);
      if (reached !== 'caught up' || noSwap) return reached;
      const done = await handOver(options);
      if (typeof done !== 'string') return done;
      if (options.stop.aborted) return 'interrupted';
      const delayMs = Math.min(longestPauseMs, 250 * 1.4 ** tried);
      logger.warn({ blockedBy: done, delayMs }, 'swap blocked, retrying');
      await live.withClient((client) => updateJob(client, 'rebuild', { problem: done }));
      if (options.isSourceClosed !== true) follower.start();
      await pause(delayMs, options.stop);
    }
  } catch (thrown) {
    const error = toIndexerError(thrown);
    if (options.stop.aborted) return 'interrupted';
    await noteFailed(live, error);
    throw error;
  }
  const error = new IndexerError(`the new schema has caught up, and the swap was blocked ${String(attempts)} times`, {
    code: 'REBUILD_SWAP_BLOCKED',
  });
  await noteFailed(live, error);
  throw error;
}

/** Stores the failure for readers of table `jobs`. If this fails, the exit code still reports the failure. */
async function noteFailed(live: Database, { message }: IndexerError): Promise<void> {
  const failed = { state: 'failed', problem: message, perSecond: null } as const;
  await live.withClient((client) => updateJob(client, 'rebuild', failed)).catch(() => undefined);
}

async function untilCaughtUp(options: Rebuild): Promise<'caught up' | 'cancelled' | 'interrupted'> {
  const { live, follower, stop, logger } = options;
  follower.start();
  const speed = new Speed();
  for (let look = 0; !stop.aborted; look += 1) {
    const trouble = follower.trouble();
    const liveStream = await readStream(live);
    const targetStream = await readStream(follower.database);
    const { progress, caughtUp } = progressOf(liveStream, targetStream);
    if (look % looksPerNote === 0 || caughtUp) {
      const noted = { ...progress, perSecond: speed.of(progress), problem: trouble ?? null };
      if (!(await live.withClient((client) => updateJob(client, 'rebuild', noted)))) {
        if ((await rest(options)) === 'cancelled') return 'cancelled';
        continue;
      }
      if (look % (looksPerNote * 10) === 0) logger.info(noted, 'rebuilding');
    }
    if (caughtUp) return 'caught up';
    await pause(lookMs, stop);
  }
  return 'interrupted';
}

/** Waits while the job is paused, without reading or writing. Ends if the job is cancelled. */
async function rest({ live, follower, logger, stop }: Rebuild): Promise<'cancelled' | 'due'> {
  logger.info('rebuild is paused; to resume it: ledger-indexer jobs resume rebuild');
  await follower.stop();
  while (!stop.aborted) {
    const job = await live.withClient((client) => getJob(client, 'rebuild'));
    if (job === undefined) return 'cancelled';
    if (isDue(job)) break;
    await pause(lookMs, stop);
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
    const done = targetStream?.seedContracts ?? 0;
    return { progress: { step: 'seeding', unit: 'contracts', done, total: null }, caughtUp: false };
  }
  const begun = Math.min(targetStream.seedOffset ?? 0, liveCheckpoint);
  const caughtUp = targetStream.checkpoint >= liveCheckpoint - caughtUpOffsets;
  const done = Math.max(0, Math.min(targetStream.checkpoint, liveCheckpoint) - begun);
  const progress = {
    step: caughtUp ? 'caught up' : 'following',
    unit: 'offsets',
    done,
    total: liveCheckpoint - begun,
  } as const;
  return { progress, caughtUp };
}

/** Computes the speed of the current step from the progress since the last call. */
class Speed {
  #step: string | null = null;
  #done = 0;
  #at = performance.now();

  of({ step, done }: Pick<JobProgress, 'step' | 'done'>): number | null {
    const now = performance.now();
    const seconds = (now - this.#at) / 1000;
    const perSecond = step === this.#step && seconds > 0 ? Math.max(0, done - this.#done) / seconds : null;
    [this.#step, this.#done, this.#at] = [step, done, now];
    return perSecond;
  }
}
