/**
 * A rebuild from the beginning to its end: fills the storage, says in table `works` how far it is, rests while it is
 * stopped there, and hands over once it is level.
 */
import { pause } from '../../config/pause.ts';
import { IndexerError, toIndexerError } from '../../errors/indexer-error.ts';
import type { Database } from '../../store/connection/database.ts';
import { readStream, type StreamFacts } from '../../store/history/maintenance.ts';
import { findWork, isDue, noteWork } from '../../store/history/works.ts';
import type { WorkProgress } from '../../model/stream.ts';
import { handOver, type HandedOver, type Handover } from './handover.ts';

export interface Rebuild extends Handover {
  /** Stop when it is level, without the end. */
  readonly onlyLevel: boolean;
  /** The live storage was laid down already: what is left needs no ledger. */
  readonly laidDown?: boolean;
}

/** What became of it. */
export type Outcome = HandedOver | 'level' | 'cancelled' | 'interrupted';

/** Progress is looked at so often, and noted a quarter as often. */
const lookMs = 250;
const looksPerNote = 4;
/** So far behind the live stream, in offsets, is level: the rest is followed while the writer stands still. */
const levelOffsets = 200;
/** Attempts at the swap; the pauses between them grow up to the longest. */
const attempts = 40;
const longestPauseMs = 15_000;

/** Runs to its end. @throws IndexerError REBUILD_SWAP_BLOCKED after the last attempt, or what ends it */
export async function rebuild(given: Rebuild): Promise<Outcome> {
  const { follower, onlyLevel, logger, live } = given;
  try {
    for (let tried = 0; tried < attempts; tried += 1) {
      const reached = given.laidDown === true ? 'level' : await untilLevel(given);
      if (reached !== 'level' || onlyLevel) return reached;
      const done = await handOver(given);
      if (typeof done !== 'string') return done;
      if (given.stop.aborted) return 'interrupted';
      const delayMs = Math.min(longestPauseMs, 250 * 1.4 ** tried);
      logger.warn({ by: done, retryInMs: delayMs }, 'not swapped yet: it is tried again');
      await live.withClient((client) => noteWork(client, 'rebuild', { problem: done }));
      if (given.laidDown !== true) follower.start();
      await pause(delayMs, given.stop);
    }
  } catch (thrown) {
    const error = toIndexerError(thrown);
    if (given.stop.aborted) return 'interrupted';
    await noteFailed(live, error);
    throw error;
  }
  const error = new IndexerError(`the new storage is level, and was kept from its place ${String(attempts)} times`, {
    code: 'REBUILD_SWAP_BLOCKED',
  });
  await noteFailed(live, error);
  throw error;
}

/** For who looks at works; that it failed is told by the exit in any case. */
async function noteFailed(live: Database, { message }: IndexerError): Promise<void> {
  const failed = { state: 'failed', problem: message, perSecond: null } as const;
  await live.withClient((client) => noteWork(client, 'rebuild', failed)).catch(() => undefined);
}

async function untilLevel(given: Rebuild): Promise<'level' | 'cancelled' | 'interrupted'> {
  const { live, follower, stop, logger } = given;
  follower.start();
  const speed = new Speed();
  for (let look = 0; !stop.aborted; look += 1) {
    const trouble = follower.trouble();
    const ours = await readStream(live);
    const beside = await readStream(follower.database);
    const { progress, level } = progressOf(ours, beside);
    if (look % looksPerNote === 0 || level) {
      const noted = { ...progress, perSecond: speed.of(progress), problem: trouble ?? null };
      if (!(await live.withClient((client) => noteWork(client, 'rebuild', noted)))) {
        if ((await rest(given)) === 'cancelled') return 'cancelled';
        continue;
      }
      if (look % (looksPerNote * 10) === 0) logger.info(noted, 'rebuilding');
    }
    if (level) return 'level';
    await pause(lookMs, stop);
  }
  return 'interrupted';
}

/** While the work is stopped nothing is read or written; given up, what was filled goes. */
async function rest({ live, follower, logger, stop }: Rebuild): Promise<'cancelled' | 'due'> {
  logger.info('stopped: it goes on with works resume rebuild');
  await follower.stop();
  while (!stop.aborted) {
    const work = await live.withClient((client) => findWork(client, 'rebuild'));
    if (work === undefined) return 'cancelled';
    if (isDue(work)) break;
    await pause(lookMs, stop);
  }
  follower.start();
  return 'due';
}

function progressOf(
  ours: StreamFacts | undefined,
  beside: StreamFacts | undefined,
): { readonly progress: Pick<WorkProgress, 'step' | 'unit' | 'done' | 'total'>; readonly level: boolean } {
  const wanted = ours?.checkpoint ?? 0;
  if (beside?.seeded !== true || beside.checkpoint === null) {
    const done = beside?.seedContracts ?? 0;
    return { progress: { step: 'seeding', unit: 'contracts', done, total: null }, level: false };
  }
  const begun = Math.min(beside.seedOffset ?? 0, wanted);
  const level = beside.checkpoint >= wanted - levelOffsets;
  const done = Math.max(0, Math.min(beside.checkpoint, wanted) - begun);
  const progress = { step: level ? 'level' : 'following', unit: 'offsets', done, total: wanted - begun } as const;
  return { progress, level };
}

/** Between two notes. */
class Speed {
  #step: string | null = null;
  #done = 0;
  #at = performance.now();

  of({ step, done }: Pick<WorkProgress, 'step' | 'done'>): number | null {
    const now = performance.now();
    const seconds = (now - this.#at) / 1000;
    const perSecond = step === this.#step && seconds > 0 ? Math.max(0, done - this.#done) / seconds : null;
    [this.#step, this.#done, this.#at] = [step, done, now];
    return perSecond;
  }
}
