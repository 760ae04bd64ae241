/**
 * The handover after the new schema has caught up. The writer of the live schema releases its lock, and the new schema
 * follows to the same offset and replaces the live one. If anything blocks it, the lock is released at once and the
 * handover is retried.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../../observe/log/logger.ts';
import type { Database } from '../../store/connection/database.ts';
import { readStream } from '../../store/history/maintenance.ts';
import { WriterCandidate } from '../../store/lock/writer-lock.ts';
import { stopWriter, type StoppedWriter } from '../../store/swap/swap.ts';
import type { Follower } from './follower.ts';

/** The last steps for a schema that has caught up. */
export interface SwapSteps {
  /** The slow steps, while writers and readers continue. Resolves to the remaining steps. */
  prepare(): Promise<FinishSwap>;
}

/**
 * The steps while no process writes and both schemas have the same offset. Resolves to the checkpoint, or to a
 * description of what blocked them; then nothing has changed.
 */
export type FinishSwap = (writerStopped: StoppedWriter) => Promise<number | string>;

export interface Handover {
  readonly live: Database;
  readonly follower: Follower;
  readonly ending: SwapSteps;
  readonly leaseMs: number;
  readonly logger: Logger;
  readonly stop: AbortSignal;
}

export interface HandoverResult {
  readonly checkpoint: number;
  /** How long no process wrote after the writer had released its lock, milliseconds. */
  readonly pauseMs: number;
}

/**
 * Maximum wait for the writer to release its lock, milliseconds. A writer that hangs loses the lock with its lease, 10
 * s by default.
 */
const yieldTimeoutMs = 30_000;
/**
 * Maximum wait for the live schema to reach the offset of the new one, milliseconds: longer than a writing indexer is
 * behind.
 */
const passTimeoutMs = 3_000;
/**
 * Maximum time for the follower to catch up, milliseconds. Only updates are left that were written while the writer
 * released its lock.
 */
const followTimeoutMs = 3_000;
const pollMs = 10;

/**
 * Makes one attempt. If it was blocked, resolves to a description of what blocked it, and nothing has changed.
 * @throws IndexerError REBUILD_REFUSED if something cannot be copied
 */
export async function runHandover(handover: Handover): Promise<HandoverResult | string> {
  const { live: liveDatabase, follower, ending: swapSteps, leaseMs, logger } = handover;
  logger.info('preparing the swap');
  const finishSwap = await swapSteps.prepare();
  // The new schema should not be ahead of the live one when the live writer stops. Without a writer this cannot be
  // avoided.
  await follower.stop();
  await waitUntilReached(liveDatabase, await follower.checkpoint(), handover.stop);
  const candidate = new WriterCandidate(liveDatabase, leaseMs);
  try {
    logger.info('requesting the writer lock');
    const lock = await candidate.askLock(yieldTimeoutMs);
    if (lock === undefined) return 'the writer of the live schema did not release its lock';
    const since = performance.now();
    const checkpoint = await Promise.race([swapSchemas(handover, finishSwap), lock.lost]);
    if (typeof checkpoint === 'string') return checkpoint;
    return { checkpoint, pauseMs: Math.round(performance.now() - since) };
  } finally {
    await candidate.close();
  }
}

/** Waits for a limited time until the live schema has reached the same offset. */
async function waitUntilReached(liveDatabase: Database, offset: number, stop: AbortSignal): Promise<void> {
  const end = performance.now() + passTimeoutMs;
  while (!stop.aborted && performance.now() < end) {
    if (((await readStream(liveDatabase))?.checkpoint ?? -1) >= offset) return;
    await sleep(pollMs);
  }
}

async function swapSchemas(
  { live: liveDatabase, follower, logger }: Handover,
  finishSwap: FinishSwap,
): Promise<number | string> {
  logger.info('stopping the live writer');
  const writerStopped = await stopWriter(liveDatabase);
  if (!(await follower.followTo(writerStopped.checkpoint, followTimeoutMs)))
    return 'the new schema did not catch up in time';
  return finishSwap(writerStopped);
}

/** Codes of failures that other sessions cause and that are temporary. */
export const transientCodes: ReadonlySet<string> = new Set([
  'STORE_LOCKED',
  'STORE_CONFLICT',
  'REBUILD_SWAP_BLOCKED',
  'STORE_STATEMENT_TIMEOUT',
]);
