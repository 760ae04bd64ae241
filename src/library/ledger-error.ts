/** The error type for programs that use the library. */
import { IndexerError } from '../errors/indexer-error.ts';

/** The error with which every call of the library rejects. */
export interface LedgerError extends Error {
  /**
   * Code that does not change between versions, e.g. `LEDGER_PRUNED`. All codes are in docs/reference/error-codes.md.
   */
  readonly code: string;
  /**
   * `retry` and `refresh-token`: a retry may help. `park`: a retry helps after an operator has acted. `fatal`: no retry
   * helps.
   */
  readonly retry: 'retry' | 'refresh-token' | 'fenced' | 'park' | 'fatal';
  /** The remedy, as a sentence. */
  readonly remedy: string;
  /** Facts such as `ledgerCode`, the ledger's own code, and `httpStatus`. Never payloads or tokens. */
  readonly facts: Readonly<Record<string, string | number | boolean>>;
}

/** Whether a thrown value is an error of the library. */
export function isLedgerError(thrown: unknown): thrown is LedgerError {
  return thrown instanceof IndexerError;
}
