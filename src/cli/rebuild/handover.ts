/**
 * From level to swapped: the writer of the live storage gives way, the storage beside follows to where that one stands, and
 * both change places. Whatever is in the way is given its time: the right to write goes back at once, and it is tried again.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { toIndexerError } from '../../errors/indexer-error.ts';
import type { Logger } from '../../observe/log/logger.ts';
import type { Database } from '../../store/connection/database.ts';
import { readStream } from '../../store/history/maintenance.ts';
import { WriterCandidate } from '../../store/lock/writer-lock.ts';
import { blockersOf, olderSnapshots } from '../../store/swap/locks.ts';
import type { Beside } from '../../store/swap/places.ts';
import {
  complete,
  halt,
  prepareSwap,
  swap,
  type Halted,
  type LastCommit,
  type Prepared,
} from '../../store/swap/swap.ts';
import { writerName } from '../database/maintenance.ts';
import type { Follower } from './follower.ts';

export interface Handover {
  readonly live: Database;
  readonly follower: Follower;
  readonly beside: Beside;
  readonly notify: boolean;
  readonly leaseMs: number;
  readonly logger: Logger;
  readonly stop: AbortSignal;
}

export interface Swapped {
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
/** Tries while the right to write is ours. */
const triesInRow = 2;
const betweenTriesMs = 50;
/** Snapshots are waited for so long before anybody is kept out. */
const snapshotsMs = 300;
const pollMs = 10;
/** Who is in the way is looked at so often. */
const watchMs = 100;

/**
 * One attempt. Resolves to what was in the way, in words, when it did not come to the swap; nothing has happened then.
 * @throws IndexerError REBUILD_REFUSED when something cannot be carried
 */
export async function handOver(handover: Handover): Promise<Swapped | string> {
  const { live, follower, leaseMs, logger } = handover;
  logger.info('preparing the swap');
  const prepared = await prepareSwap(live, follower.database);
  // Better not past the live storage when that one is halted; where nobody writes to that it cannot be helped.
  await follower.stop();
  await untilPassed(live, await follower.checkpoint(), handover.stop);
  const candidate = new WriterCandidate(live, leaseMs);
  try {
    logger.info('asking for the right to write');
    const lock = await candidate.askLock(giveWayMs);
    if (lock === undefined) return 'the writer of the live storage did not give way';
    const since = performance.now();
    const checkpoint = await Promise.race([changePlaces(handover, prepared), lock.lost]);
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

async function changePlaces(handover: Handover, prepared: Prepared): Promise<number | string> {
  const { live, follower, logger } = handover;
  logger.info('halting the live stream');
  const halted = await halt(live);
  if (!(await follower.followTo(halted.checkpoint, followMs))) return 'the new storage did not catch up in time';
  const last = await complete(live, follower.database);
  await outlive(live, last);
  const ahead = (await follower.checkpoint()) > halted.checkpoint;
  const swapping = { prepared, halted, last, ahead };
  for (let tried = 1; ; tried += 1) {
    const hindered = await trySwap(handover, swapping);
    if (typeof hindered === 'number' || tried === triesInRow) return hindered;
    await sleep(betweenTriesMs);
  }
}

/** Snapshots from before the new storage was complete: most are gone in a moment, without anybody being kept waiting. */
async function outlive(live: Database, last: LastCommit): Promise<void> {
  const end = performance.now() + snapshotsMs;
  const older = () => live.withClient((client) => olderSnapshots(client, last));
  while ((await older()).length > 0 && performance.now() < end) await sleep(pollMs);
}

/** Somebody was in the way, who will be gone. */
const passing: ReadonlySet<string> = new Set([
  'STORE_LOCKED',
  'STORE_CONFLICT',
  'REBUILD_HINDERED',
  'STORE_STATEMENT_TIMEOUT',
]);

interface Swapping {
  readonly prepared: Prepared;
  readonly halted: Halted;
  readonly last: LastCommit;
  readonly ahead: boolean;
}

/** Resolves to the checkpoint, or to who was in the way. */
async function trySwap({ live, beside, notify, logger }: Handover, swapping: Swapping): Promise<number | string> {
  const blockers = new Set<string>();
  let session = 0;
  const watch = setInterval(() => {
    live
      .withClient((client) => blockersOf(client, session))
      .then(
        (found) => found.forEach((name) => blockers.add(name)),
        () => undefined,
      );
  }, watchMs);
  try {
    const onSession = (pid: number): void => void (session = pid);
    const onStep = (step: string): void => logger.info({ step }, 'swap');
    return await swap(live, { ...swapping, beside, notify, writer: writerName, onSession, onStep });
  } catch (thrown) {
    const error = toIndexerError(thrown);
    if (!passing.has(error.code)) throw error;
    const held = `views or tables were held by ${blockers.size === 0 ? 'a session' : [...blockers].join(', ')}`;
    const by = error.code === 'REBUILD_HINDERED' ? error.message : held;
    logger.warn({ err: error, by }, 'the swap was hindered');
    return by;
  } finally {
    clearInterval(watch);
  }
}
