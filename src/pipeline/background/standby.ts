/** Waits for the writer lock. While waiting, prepares everything that does not need the lock. */
import { pause } from '../../config/pause.ts';
import { toIndexerError } from '../../errors/indexer-error.ts';
import type { PhaseKeeper, PipelineParts } from '../ports/parts.ts';
import type { WriterLock } from '../ports/sink.ts';
import type { RetryLimits } from '../retry/retry-limit.ts';
import { retryAfterMs } from '../retry/retry.ts';

/**
 * Waits as standby until this process holds the lock. Resolves to undefined when a stop was requested.
 * @throws IndexerError WRITER_ACTIVE in a bounded run, if the wait takes too long
 */
export async function acquireLock(
  parts: PipelineParts,
  phase: PhaseKeeper,
  timeLimit: RetryLimits,
): Promise<WriterLock | undefined> {
  const begunAt = performance.now();
  await parts.sink.prepare();
  let lookAt = Number.NEGATIVE_INFINITY;
  let taken = false;
  const look = async (): Promise<void> => {
    lookAt = Number.POSITIVE_INFINITY;
    const begunAt = performance.now();
    const [leftAloneMs] = await Promise.all([lookAtLedger(parts), reportHolder(parts, false, () => !taken)]);
    lookAt = Math.max(begunAt + parts.limits.pollMs, performance.now() + leftAloneMs);
  };
  while (!parts.stop.aborted) {
    const lock = await parts.sink.tryLock();
    if (lock !== undefined) {
      taken = true;
      // The call is not awaited, because it must not delay the takeover.
      void reportHolder(parts, true);
      return lock;
    }
    phase.change('standby');
    if (timeLimit.isOver(begunAt)) throw timeLimit.heldByOther(await parts.sink.lockHolder());
    if (performance.now() >= lookAt) void look();
    await pause(parts.pace.lockMs, parts.stop);
  }
  return undefined;
}

/**
 * Reports who holds the lock. Any role that may log in can take the lock, so a waiting process and the operator need to
 * know its holder.
 * @param isNeeded whether the result is still needed when it arrives
 */
async function reportHolder(parts: PipelineParts, isOwn: boolean, isNeeded = () => true): Promise<void> {
  try {
    const holder = await parts.sink.lockHolder();
    if (isNeeded()) parts.observers.polls.lockHeld(holder, isOwn);
  } catch {
    // The code that needs the lock reports the same failure.
  }
}

/**
 * Checks token and ledger, so that a standby with an unusable token or ledger is noticed before it has to take over.
 * Does not open the stream. Resolves to the delay that the ledger requested, in milliseconds.
 */
async function lookAtLedger(parts: PipelineParts): Promise<number> {
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
