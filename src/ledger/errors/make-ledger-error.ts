/** Creates errors of the ledger, with a ledger code and the facts of the call. */
import type { LedgerErrorCode } from '../../errors/catalogue.ts';
import { IndexerError, type ErrorDetails } from '../../errors/indexer-error.ts';

/** Overrides of the catalogue's values, and facts of the call. */
export type LedgerErrorDetails = ErrorDetails;

/** An IndexerError of the ledger. */
export function ledgerError(code: LedgerErrorCode, message: string, details: LedgerErrorDetails = {}): IndexerError {
  return new IndexerError(message, { code, ...details });
}
