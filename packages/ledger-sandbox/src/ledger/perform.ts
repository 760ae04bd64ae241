/** Does what clients ask for, and what a journal says they asked for. */
import type { ClientAction } from './client-action.ts';
import type { Ledger } from './ledger.ts';
import { recordAtOnce } from './record-at-once.ts';
import { reassign } from './reassignment-commands.ts';

/**
 * Makes an action happen. It is recorded at its effective time, so never ahead of the clock. Gives back the offset of its
 * update. Throws a LedgerFailure when the ledger refuses it.
 */
export function perform(ledger: Ledger, action: ClientAction): number {
  return recordAtOnce(ledger, () =>
    'submission' in action ? ledger.submit(action.submission).offset : reassign(ledger, action.reassignment),
  );
}

/** The same for a client: a journal hears of it first. */
export function performJournaled(ledger: Ledger, action: ClientAction): number {
  ledger.journal?.(action);
  return perform(ledger, action);
}
