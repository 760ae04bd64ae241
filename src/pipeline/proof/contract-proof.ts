/**
 * The proof of last resort, where neither the participant id nor any update can be compared: active contracts. Their ids
 * are hashes that no two ledgers share, and the offset of their create is this participant's own.
 */
import { IndexerError } from '../../errors/indexer-error.ts';
import { eventFormat } from '../../ledger/api/request-format.ts';
import type { ContractMark } from '../../model/stream.ts';
import type { PipelineParts } from '../ports/parts.ts';

const contractsAsked = 3;

/**
 * A contract that was active at our checkpoint is known to a participant that is not pruned past it.
 * @throws IndexerError HISTORY_CHANGED (park) when the ledger knows none of those asked for, or one at another offset
 */
export async function proveByContracts(parts: PipelineParts): Promise<void> {
  const asked = await parts.sink.marks.contracts(contractsAsked);
  let unknown = 0;
  for (const mark of asked) {
    const offset = await createdAt(parts, mark);
    if (offset === mark.offset || offset === 'not told') return;
    if (offset !== undefined) {
      throw otherHistory(`the ledger has at offset ${String(offset)} what we stored at ${String(mark.offset)}`);
    }
    unknown += 1;
  }
  if (unknown > 0) throw otherHistory(`the ledger knows none of ${String(unknown)} contracts that are active here`);
}

/** Offset of the create; undefined when the ledger does not know the contract, `not told` when it cannot be asked. */
async function createdAt(
  { ledger, filter }: PipelineParts,
  mark: ContractMark,
): Promise<number | undefined | 'not told'> {
  try {
    const events = await ledger.events.byContractId(mark.contractId, eventFormat(filter));
    if (events === undefined) return undefined;
    return events.created?.createdEvent.offset ?? 'not told';
  } catch (thrown) {
    const refused = thrown instanceof IndexerError && (thrown.retry === 'park' || thrown.code === 'LEDGER_INTERNAL');
    if (refused) return 'not told';
    throw thrown;
  }
}

function otherHistory(found: string): IndexerError {
  return new IndexerError(`${found}; no update and no participant id could be compared`, {
    code: 'HISTORY_CHANGED',
    remedy:
      'another participant answers, or it was reset: index it into a new POSTGRES_SCHEMA, or give ' +
      'up this history: ledger-indexer reseed --yes (granting ParticipantAdmin lets the participant id decide)',
  });
}
