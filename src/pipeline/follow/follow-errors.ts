/** Failures of the streams, with the place they are about. */
import { IndexerError, retold } from '../../errors/indexer-error.ts';

const unreadFrames: ReadonlySet<string> = new Set([
  'LEDGER_FRAME_TOO_LARGE',
  'LEDGER_UNDECODABLE',
  'UPDATE_UNDECODABLE',
]);

/** Of a frame that was not even read only its place is known. */
export function namingPlace(error: IndexerError, checkpoint: number): IndexerError {
  if (!unreadFrames.has(error.code) || error.facts['offset'] !== undefined) return error;
  return retold(error, {
    message: `the update after offset ${String(checkpoint)}: ${error.message}`,
    facts: { checkpoint },
  });
}

/** A place among the active contracts. */
export interface SeedPlace {
  readonly seedOffset: number;
  /** Number of the entry, from 1 on. */
  readonly entry: number;
  /** Null where the entry could not be read, or has none. */
  readonly contractId: string | null;
}

/** The error with the one entry of the active contracts it is about. */
export function namingEntry(error: IndexerError, { seedOffset, entry, contractId }: SeedPlace): IndexerError {
  // As a ledger makes them; anything else may be contents.
  const shown = contractId !== null && /^[\w:#.-]{1,300}$/.test(contractId) ? contractId : undefined;
  const about = `entry ${String(entry)} of the active contracts at offset ${String(seedOffset)}`;
  return retold(error, {
    message: `${about}${shown === undefined ? '' : `, contract ${shown}`}: ${error.message}`,
    facts: { seedOffset, entry, ...(shown === undefined ? {} : { contractId: shown }) },
  });
}

/** The ledger went back. */
export function outOfOrder(offset: number, seen: number): IndexerError {
  return new IndexerError(`the ledger sent offset ${String(offset)} after offset ${String(seen)}`, {
    code: 'LEDGER_OUT_OF_ORDER',
    facts: { offset, seen },
  });
}
