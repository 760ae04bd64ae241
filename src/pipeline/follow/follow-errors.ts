/** Errors of the streams, with the offset or the entry at which they occurred. */
import { IndexerError, withContext } from '../../errors/indexer-error.ts';

const unreadableFrameCodes: ReadonlySet<string> = new Set([
  'LEDGER_FRAME_TOO_LARGE',
  'LEDGER_UNDECODABLE',
  'UPDATE_UNDECODABLE',
]);

/** Adds the checkpoint to the error if a frame could not be read, because the offset of that frame is unknown. */
export function withOffsetContext(error: IndexerError, checkpoint: number): IndexerError {
  if (!unreadableFrameCodes.has(error.code) || error.facts['offset'] !== undefined) return error;
  return withContext(error, {
    message: `the update after offset ${String(checkpoint)}: ${error.message}`,
    facts: { checkpoint },
  });
}

/** Position of an entry in the list of active contracts. */
export interface SeedPosition {
  readonly seedOffset: number;
  /** Number of the entry, from 1. */
  readonly entry: number;
  /** Null if the entry could not be read, or has no contract. */
  readonly contractId: string | null;
}

/** Adds the entry of the active contracts at which an error occurred. */
export function withEntryContext(error: IndexerError, { seedOffset, entry, contractId }: SeedPosition): IndexerError {
  // Only contract ids in the format of the ledger are included, because any other text may contain payload.
  const safeContractId = contractId !== null && /^[\w:#.-]{1,300}$/.test(contractId) ? contractId : undefined;
  const entryLabel = `entry ${String(entry)} of the active contracts at offset ${String(seedOffset)}`;
  return withContext(error, {
    message: `${entryLabel}${safeContractId === undefined ? '' : `, contract ${safeContractId}`}: ${error.message}`,
    facts: { seedOffset, entry, ...(safeContractId === undefined ? {} : { contractId: safeContractId }) },
  });
}

/** The error if the ledger sent a lower offset than before. */
export function outOfOrderError(offset: number, newestOffset: number): IndexerError {
  return new IndexerError(`the ledger sent offset ${String(offset)} after offset ${String(newestOffset)}`, {
    code: 'LEDGER_OUT_OF_ORDER',
    facts: { offset, seen: newestOffset },
  });
}
