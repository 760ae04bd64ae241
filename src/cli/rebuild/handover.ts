/**
 * The handover after the new schema has caught up: the writer of the live schema releases its lock, the new schema follows to the
 * same offset and takes its place. If anything blocks it, the lock is released immediately, and the handover is retried.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../../observe/log/logger.ts';
import type { Database } from '../../store/connection/database.ts';
import { readStream } from '../../store/history/maintenance.ts';
import { WriterCandidate } from '../../store/lock/writer-lock.ts';
import { halt, type StoppedWriter } from '../../store/swap/swap.ts';
import type { Follower } from './follower.ts';

/** The actions for a schema that has caught up. */
export interface Ending {
  /** The slow part, while writers and readers continue. Resolves to the remaining actions. */
  prepare(): Promise<Finish>;
}

/**
 * The part without a writer, when both schemas have the same offset. Resolves to the result, or to what blocked it, in words; then nothing has changed.
 */
export type Finish = (writerStopped: StoppedWriter) => Promise<number | string>;

export interface Handover {
  readonly live: Database;
  readonly follower: Follower;
  readonly ending: Ending;
  readonly leaseMs: number;
  readonly logger: Logger;
  readonly stop: AbortSignal;
}

export interface HandedOver {
  readonly checkpoint: number;
  /** How long no process wrote, in milliseconds, from when the writer released its lock. */
  readonly pauseMs: number;
}

/** A writer that hangs loses its lock with its lease; the default is 10 s. */
const giveWayMs = 30_000;
/** Longer than a writing indexer is behind. */
const passMs = 3_000;
/** The follower has caught up except for updates that were written while the writer released its lock. */
const followMs = 3_000;
const pollMs = 10;

/**
 * One attempt. Resolves to what blocked the swap, in words, if it did not happen; then nothing has changed.
 * @throws IndexerError REBUILD_REFUSED if something cannot be copied
 */
export async function handOver(handover: Handover): Promise<HandedOver | string> {
  const { live, follower, ending, leaseMs, logger } = handover;
  logger.info('preparing the swap');
  const finish = await ending.prepare();
  // It is better not to pass the live schema when that one stops; without a writer this cannot be avoided.
  await follower.stop();
  await untilPassed(live, await follower.checkpoint(), handover.stop);
  const candidate = new WriterCandidate(live, leaseMs);
  try {
    logger.info('requesting the writer lock');
    const lock = await candidate.askLock(giveWayMs);
    if (lock === undefined) return 'the writer of the live schema did not release its lock';
    const since = performance.now();
    const checkpoint = await Promise.race([swapSchemas(handover, finish), lock.lost]);
    if (typeof checkpoint === 'string') return checkpoint;
    return { checkpoint, pauseMs: Math.round(performance.now() - since) };
  } finally {
    await candidate.close();
  }
}

/** Waits for a limited time until the live schema has reached the same offset. */
async function untilPassed(live: Database, offset: number, stop: AbortSignal): Promise<void> {
  const end = performance.now() + passMs;
  while (!stop.aborted && performance.now() < end) {
    if (((await readStream(live))?.checkpoint ?? -1) >= offset) return;
    await sleep(pollMs);
  }
}

async function swapSchemas({ live, follower, logger }: Handover, finish: Finish): Promise<number | string> {
  logger.info('stopping the live writer');
  const writerStopped = await halt(live);
  if (!(await follower.followTo(writerStopped.checkpoint, followMs))) return 'the new schema did not catch up in time';
  return finish(writerStopped);
}

/** Failures that are caused by another session and pass. */
export const passing: ReadonlySet<string> = new Set([
  'STORE_LOCKED',
  'STORE_CONFLICT',
  'REBUILD_SWAP_BLOCKED',
  'STORE_STATEMENT_TIMEOUT',
]);
