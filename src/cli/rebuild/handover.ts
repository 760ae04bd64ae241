/**
 * From level to the end: the writer of the live storage gives way, the other storage follows to where that one stands, and
 * takes its place. Whatever is in the way is given its time: the right to write goes back at once, and it is tried again.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../../observe/log/logger.ts';
import type { Database } from '../../store/connection/database.ts';
import { readStream } from '../../store/history/maintenance.ts';
import { WriterCandidate } from '../../store/lock/writer-lock.ts';
import { halt, type Halted } from '../../store/swap/swap.ts';
import type { Follower } from './follower.ts';

/** What becomes of a storage that is level. */
export interface Ending {
  /** What takes long, while everybody works on. Resolves to what is left to do. */
  prepare(): Promise<Finish>;
}

/**
 * While nobody writes, and both stand at one offset. Resolves to that, or to what was in the way, in words: nothing has happened then.
 */
export type Finish = (halted: Halted) => Promise<number | string>;

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
  /** For so long nobody wrote because of it, milliseconds: from when the writer gave way. */
  readonly pauseMs: number;
}

/** A writer that froze loses its lock with its lease; the default is 10 s. */
const giveWayMs = 30_000;
/** Longer than an indexer is behind that writes. */
const passMs = 3_000;
/** The follower is level: what is left is what was written while the writer gave way. */
const followMs = 3_000;
const pollMs = 10;

/**
 * One attempt. Resolves to what was in the way, in words, when it did not come to the swap; nothing has happened then.
 * @throws IndexerError REBUILD_REFUSED when something cannot be carried
 */
export async function handOver(handover: Handover): Promise<HandedOver | string> {
  const { live, follower, ending, leaseMs, logger } = handover;
  logger.info('preparing the swap');
  const finish = await ending.prepare();
  // Better not past the live storage when that one is halted; where nobody writes to that it cannot be helped.
  await follower.stop();
  await untilPassed(live, await follower.checkpoint(), handover.stop);
  const candidate = new WriterCandidate(live, leaseMs);
  try {
    logger.info('asking for the right to write');
    const lock = await candidate.askLock(giveWayMs);
    if (lock === undefined) return 'the writer of the live storage did not give way';
    const since = performance.now();
    const checkpoint = await Promise.race([changePlaces(handover, finish), lock.lost]);
    if (typeof checkpoint === 'string') return checkpoint;
    return { checkpoint, pauseMs: Math.round(performance.now() - since) };
  } finally {
    await candidate.close();
  }
}

/** Waits until the live storage is as far, for a while. */
async function untilPassed(live: Database, offset: number, stop: AbortSignal): Promise<void> {
  const end = performance.now() + passMs;
  while (!stop.aborted && performance.now() < end) {
    if (((await readStream(live))?.checkpoint ?? -1) >= offset) return;
    await sleep(pollMs);
  }
}

async function changePlaces({ live, follower, logger }: Handover, finish: Finish): Promise<number | string> {
  logger.info('halting the live stream');
  const halted = await halt(live);
  if (!(await follower.followTo(halted.checkpoint, followMs))) return 'the new storage did not catch up in time';
  return finish(halted);
}

/** Somebody was in the way, who will be gone. */
export const passing: ReadonlySet<string> = new Set([
  'STORE_LOCKED',
  'STORE_CONFLICT',
  'REBUILD_SWAP_BLOCKED',
  'STORE_STATEMENT_TIMEOUT',
]);
