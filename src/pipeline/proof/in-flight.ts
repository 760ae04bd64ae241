/**
 * A participant that has reassignments in flight may refuse active contracts at an offset other than its ledger end,
 * with the message that they are pruned. If nothing is pruned, that message is wrong: a reseed would not help, and no
 * history is lost.
 */
import type { IndexerError } from '../../errors/indexer-error.ts';
import { ledgerError } from '../../ledger/errors/make-ledger-error.ts';
import type { LedgerReads } from '../ports/source.ts';

/** The error of a refused list at an offset, corrected after a comparison with the participant's pruned offset. */
export async function correctRefusal(
  refusalError: IndexerError,
  offset: number,
  { state }: { readonly state: Pick<LedgerReads['state'], 'latestPrunedOffsets'> },
): Promise<IndexerError> {
  if (refusalError.code !== 'LEDGER_PRUNED') return refusalError;
  const pruned = await state.latestPrunedOffsets().catch(() => undefined);
  if (pruned === undefined || offset < pruned) return refusalError;
  const message =
    `the participant rejects active contracts at offset ${String(offset)} as pruned, although it is pruned only up to ${String(pruned)}: ` +
    `reassignments were in flight there (${refusalError.message})`;
  return ledgerError('LEDGER_REASSIGNMENT_IN_FLIGHT', message, {
    facts: { ...refusalError.facts, offset, pruned },
    cause: refusalError,
  });
}
