/** Failures for programs that use the library. */
import { IndexerError } from '../errors/indexer-error.ts';

/** Error with which every call of the library rejects. */
export interface LedgerError extends Error {
  /** Stable, e.g. `LEDGER_PRUNED`; all are in docs/reference/error-codes.md. */
  readonly code: string;
  /** `retry` and `refresh-token`: another try may help; `park`: after an operator has acted; `fatal`: none helps. */
  readonly retry: 'retry' | 'refresh-token' | 'fenced' | 'park' | 'fatal';
  /** The remedy, in a sentence. */
  readonly remedy: string;
  /** Such as `ledgerCode`, the ledger's own code, and `httpStatus`. Never payloads or tokens. */
  readonly facts: Readonly<Record<string, string | number | boolean>>;
}

/** Whether a thrown value comes from the library. */
export function isLedgerError(thrown: unknown): thrown is LedgerError {
  return thrown instanceof IndexerError;
}
