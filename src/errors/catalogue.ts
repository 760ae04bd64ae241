/**
 * The catalogue of error codes: meaning, remedy, exit code and retry class. A thrown error adds what was found, and a
 * remedy only if it is more specific than that of the catalogue.
 */
import { commandCodes } from './command-codes.ts';
import { embeddedCodes } from './embedded-codes.ts';
import type { FailureKind } from './failure-kind.ts';
import { ledgerCodes } from './ledger-codes.ts';
import { storeCodes } from './store-codes.ts';
import { streamCodes } from './stream-codes.ts';
import { readerTokenCodes } from './reader-token-codes.ts';
import { requestCodes } from './request-codes.ts';
import { webhookCodes } from './webhook-codes.ts';

const allCodes = {
  ...ledgerCodes,
  ...storeCodes,
  ...streamCodes,
  ...commandCodes,
  ...embeddedCodes,
  ...readerTokenCodes,
  ...requestCodes,
  ...webhookCodes,
};

/** Codes do not change, because logs, metrics, `/status` and alerts contain them. */
export type ErrorCode = keyof typeof allCodes;
/** A code whose errors can be thrown without a remedy. */
export type CodeWithRemedy = {
  [Code in ErrorCode]: (typeof allCodes)[Code] extends { readonly remedy: string } ? Code : never;
}[ErrorCode];
export type LedgerErrorCode = keyof typeof ledgerCodes;
export type StoreErrorCode = keyof typeof storeCodes;

export const catalogue: Readonly<Record<ErrorCode, FailureKind>> = allCodes;

export function isLedgerCode(code: string): code is LedgerErrorCode {
  return code in ledgerCodes;
}

/** The side of the indexer on which a failure occurs. */
export type Side = 'ledger' | 'store' | 'pipeline';

export function sideOf(code: ErrorCode): Side {
  if (isLedgerCode(code)) return 'ledger';
  return code in storeCodes ? 'store' : 'pipeline';
}
