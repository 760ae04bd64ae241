/** Waiting for the right to write, with everything warm that can be without it. */
import { toIndexerError } from '../errors.ts';
import type { WriterLock } from '../store/writer-lock.ts';
import type { PhaseKeeper, PipelineParts } from './parts.ts';
import { pause } from './retry.ts';

const lockPollMs = 250;

/** Waits as standby until the lock is ours; undefined when a stop was asked for. */
export async function acquireLock(parts: PipelineParts, phase: PhaseKeeper): Promise<WriterLock | undefined> {
  await parts.prepare();
  let lookedAt = Number.NEGATIVE_INFINITY;
  let looking = false;
  let taken = false;
  while (!parts.stop.aborted) {
    const lock = await parts.tryLock();
    if (lock !== undefined) {
      taken = true;
      // Not waited for: whoever takes over must not lose time by it.
      void tellHolder(parts, true);
      return lock;
    }
    phase.change('standby');
    if (!looking && performance.now() - lookedAt >= parts.limits.pollMs) {
      lookedAt = performance.now();
      looking = true;
      void Promise.all([tellHolder(parts, false, () => !taken), lookAtLedger(parts)]).finally(() => (looking = false));
    }
    await pause(lockPollMs, parts.stop);
  }
  return undefined;
}

/**
 * Any role that may log in can take the lock, so whoever waits, or wonders who writes, is told who has it.
 * @param wanted whether it is still so when the answer has come
 */
async function tellHolder(parts: PipelineParts, ours: boolean, wanted = () => true): Promise<void> {
  try {
    const holder = await parts.lockHolder();
    if (wanted()) parts.observer.lockHeld(holder, ours);
  } catch {
    // The same failure meets whoever asks for the lock or works with it, and is told there.
  }
}

/** A standby whose token or ledger is of no use should be known before it is needed. The stream stays closed. */
async function lookAtLedger(parts: PipelineParts): Promise<void> {
  try {
    const ledgerEnd = await parts.ledger.state.ledgerEnd();
    parts.observer.ledgerPolled(ledgerEnd, await parts.ledger.state.latestPrunedOffsets());
  } catch (thrown) {
    const error = toIndexerError(thrown);
    if (parts.stop.aborted) return;
    if (error.retry === 'refresh-token') parts.tokenSource.invalidate();
    parts.observer.failed('ledger', error, parts.limits.pollMs);
  }
}
