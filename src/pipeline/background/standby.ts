/** Waits for the writer lock. While waiting, prepares everything that does not need the lock. */
import { pause } from '../../config/pause.ts';
import { toIndexerError } from '../../errors/indexer-error.ts';
import type { PhaseState, PipelineParts } from '../ports/parts.ts';
import type { WriterLock } from '../ports/sink.ts';
import type { RetryLimits } from '../retry/retry-limit.ts';
import { retryAfterMs } from '../retry/retry.ts';

/**
 * Waits as standby until this process holds the lock. Resolves to undefined when a stop was requested.
 * @throws IndexerError WRITER_ACTIVE in a bounded run, if the wait takes too long
 */
export async function acquireLock(
  parts: PipelineParts,
  phase: PhaseState,
  timeLimit: RetryLimits,
): Promise<WriterLock | undefined> {
  const startedAtMs = performance.now();
  await parts.sink.prepare();
  let nextCheckAt = Number.NEGATIVE_INFINITY;
  let isLockTaken = false;
  const checkLedger = async (): Promise<void> => {
    nextCheckAt = Number.POSITIVE_INFINITY;
    const checkStartedAtMs = performance.now();
    const [checkDelayMs] = await Promise.all([
      pollStandbyLedger(parts),
      reportLockHolder(parts, false, () => !isLockTaken),
    ]);
    nextCheckAt = Math.max(checkStartedAtMs + parts.limits.pollMs, performance.now() + checkDelayMs);
  };
  while (!parts.stop.aborted) {
    const lock = await parts.sink.tryLock();
    if (lock !== undefined) {
      isLockTaken = true;
      // The call is not awaited, because it must not delay the takeover.
      void reportLockHolder(parts, true);
      return lock;
    }
    phase.change('standby');
    if (timeLimit.isOver(startedAtMs)) throw timeLimit.heldByOther(await parts.sink.lockHolder());
    if (performance.now() >= nextCheckAt) void checkLedger();
    await pause(parts.pace.lockMs, parts.stop);
  }
  return undefined;
}

/**
 * Reports who holds the lock. Any role that may log in can take the lock, so a waiting process and the operator need to
 * know its holder.
 * @param isStillNeeded whether the result is still needed when it arrives
 */
async function reportLockHolder(parts: PipelineParts, isOwnLock: boolean, isStillNeeded = () => true): Promise<void> {
  try {
    const holder = await parts.sink.lockHolder();
    if (isStillNeeded()) parts.observers.polls.lockHeld(holder, isOwnLock);
  } catch {
    // The code that needs the lock reports the same failure.
  }
}

/**
 * Checks token and ledger, so that a standby with an unusable token or ledger is noticed before it has to take over.
 * Does not open the stream. Resolves to the delay that the ledger requested, in milliseconds.
 */
async function pollStandbyLedger(parts: PipelineParts): Promise<number> {
  try {
    const ledgerEnd = await parts.ledger.state.ledgerEnd();
    parts.observers.polls.ledgerEnd(ledgerEnd);
    parts.observers.polls.pruned(await parts.ledger.state.latestPrunedOffsets());
    return 0;
  } catch (thrown) {
    const error = toIndexerError(thrown);
    if (parts.stop.aborted) return 0;
    if (error.retry === 'refresh-token') parts.tokenSource.invalidate();
    parts.observers.stream.failed('ledger', error, Math.max(parts.limits.pollMs, retryAfterMs(error)));
    return retryAfterMs(error);
  }
}
