/** Builds failures of the ledger: with one of the ledger's codes, and the facts of the location. */
import type { LedgerErrorCode } from '../../errors/catalogue.ts';
import { IndexerError, type IndexerErrorOptions } from '../../errors/indexer-error.ts';

/** Differences from the catalog, for the few codes whose class depends on where they happen, and known facts. */
export type LedgerErrorDetails = Omit<IndexerErrorOptions, 'code'>;

/** An IndexerError of the ledger. */
export function ledgerError(code: LedgerErrorCode, message: string, details: LedgerErrorDetails = {}): IndexerError {
  return new IndexerError(message, { code, ...details });
}
