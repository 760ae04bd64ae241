/** Performs actions of clients, and those of a journal. */
import type { ClientAction } from './client-action.ts';
import type { Ledger } from './ledger.ts';
import { recordAtOnce } from './record-at-once.ts';
import { reassign } from './reassignment-commands.ts';

/**
 * Performs an action. It is recorded at its effective time, so never ahead of the clock. Returns the offset of its
 * update. Throws a LedgerFailure if the ledger refuses it.
 */
export function perform(ledger: Ledger, action: ClientAction): number {
  return recordAtOnce(ledger, () =>
    'submission' in action ? ledger.submit(action.submission).offset : reassign(ledger, action.reassignment),
  );
}

/** The same for a client: the action is written to the journal first. */
export function performJournaled(ledger: Ledger, action: ClientAction): number {
  ledger.journal?.(action);
  return perform(ledger, action);
}
