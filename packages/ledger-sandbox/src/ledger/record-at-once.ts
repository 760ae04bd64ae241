/**
 * Records the current action now, because with a delay after its effective time it would be recorded ahead of the
 * clock.
 */
import type { Ledger } from './ledger.ts';

/** Performs an action that is recorded at its effective time. */
export function recordAtOnce<Result>(ledger: Pick<Ledger, 'recordDelay'>, run: () => Result): Result {
  const recordDelay = ledger.recordDelay;
  ledger.recordDelay = 0;
  try {
    return run();
  } finally {
    ledger.recordDelay = recordDelay;
  }
}
