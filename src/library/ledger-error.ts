/** Failures as a program sees them. */
import { IndexerError } from '../errors/indexer-error.ts';

/** What every call of the library rejects with. */
export interface LedgerError extends Error {
  /** Stable, e.g. `LEDGER_PRUNED`; all are in docs/reference/error-codes.md. */
  readonly code: string;
  /** `retry` and `refresh-token`: another try may help; `park`: once somebody has done something; `fatal`: none helps. */
  readonly retry: 'retry' | 'refresh-token' | 'fenced' | 'park' | 'fatal';
  /** What to do, in a sentence. */
  readonly remedy: string;
  /** Such as `ledgerCode`, the ledger's own code, and `httpStatus`. Never payloads or tokens. */
  readonly facts: Readonly<Record<string, string | number | boolean>>;
}

/** Whether something thrown comes from the library. */
export function isLedgerError(thrown: unknown): thrown is LedgerError {
  return thrown instanceof IndexerError;
}
