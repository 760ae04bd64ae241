/** Waiting for the right to write, with everything warm that can be without it. */
import { pause } from '../../config/pause.ts';
import { toIndexerError } from '../../errors/indexer-error.ts';
import type { PhaseKeeper, PipelineParts } from '../ports/parts.ts';
import type { WriterLock } from '../ports/sink.ts';
import type { Patience } from '../retry/give-up.ts';
import { retryAfterMs } from '../retry/retry.ts';

/**
 * Waits as standby until the lock is ours; undefined when a stop was asked for.
 * @throws IndexerError WRITER_ACTIVE in a run with an end, where that takes too long
 */
export async function acquireLock(
  parts: PipelineParts,
  phase: PhaseKeeper,
  patience: Patience,
): Promise<WriterLock | undefined> {
  const begunAt = performance.now();
  await parts.sink.prepare();
  let lookAt = Number.NEGATIVE_INFINITY;
  let taken = false;
  const look = async (): Promise<void> => {
    lookAt = Number.POSITIVE_INFINITY;
    const begunAt = performance.now();
    const [leftAloneMs] = await Promise.all([lookAtLedger(parts), tellHolder(parts, false, () => !taken)]);
    lookAt = Math.max(begunAt + parts.limits.pollMs, performance.now() + leftAloneMs);
  };
  while (!parts.stop.aborted) {
    const lock = await parts.sink.tryLock();
    if (lock !== undefined) {
      taken = true;
      // Not waited for: whoever takes over must not lose time by it.
      void tellHolder(parts, true);
      return lock;
    }
    phase.change('standby');
    if (patience.isOver(begunAt)) throw patience.heldByOther(await parts.sink.lockHolder());
    if (performance.now() >= lookAt) void look();
    await pause(parts.pace.lockMs, parts.stop);
  }
  return undefined;
}

/**
 * Any role that may log in can take the lock, so whoever waits, or wonders who writes, is told who has it.
 * @param wanted whether it is still so when the answer has come
 */
async function tellHolder(parts: PipelineParts, ours: boolean, wanted = () => true): Promise<void> {
  try {
    const holder = await parts.sink.lockHolder();
    if (wanted()) parts.observers.polls.lockHeld(holder, ours);
  } catch {
    // The same failure meets whoever asks for the lock or works with it, and is told there.
  }
}

/**
 * A standby whose token or ledger is of no use should be known before it is needed. The stream stays closed. Resolves to
 * how long the ledger asked to be left alone, milliseconds.
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
