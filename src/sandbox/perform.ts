/** Does what clients ask for, and what a journal says they asked for. */
import type { Deed } from './deed.ts';
import type { Ledger } from './ledger.ts';
import { promptly } from './promptly.ts';
import { reassign } from './reassignment-commands.ts';

/**
 * Makes a deed happen. It is recorded at its effective time, so never ahead of the clock. Gives back the offset of its
 * update. Throws a LedgerFailure when the ledger refuses it.
 */
export function perform(ledger: Ledger, deed: Deed): number {
  return promptly(ledger, () =>
    'submission' in deed ? ledger.submit(deed.submission).offset : reassign(ledger, deed.reassignment),
  );
}

/** The same for a client: a journal hears of it first. */
export function performJournaled(ledger: Ledger, deed: Deed): number {
  ledger.journal?.(deed);
  return perform(ledger, deed);
}
