/** How failures of the ledger are built: with a code of the ledger's, and the facts of the place. */
import type { LedgerErrorCode } from '../../errors/catalogue.ts';
import { IndexerError, type IndexerErrorOptions } from '../../errors/indexer-error.ts';

/** What differs from the catalogue, for the few codes whose class depends on where they happen, and what is known here. */
export type LedgerErrorDetails = Omit<IndexerErrorOptions, 'code'>;

/** An IndexerError of the ledger. */
export function ledgerError(code: LedgerErrorCode, message: string, details: LedgerErrorDetails = {}): IndexerError {
  return new IndexerError(message, { code, ...details });
}
