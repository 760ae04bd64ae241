/**
 * Every failure that the program can name, once: what it means, what may be done about it and by whom. Who throws one says
 * what was found, and no more than that unless the place knows better.
 */
import { commandCodes } from './command-codes.ts';
import { embeddedCodes } from './embedded-codes.ts';
import type { FailureKind } from './failure-kind.ts';
import { ledgerCodes } from './ledger-codes.ts';
import { storeCodes } from './store-codes.ts';
import { streamCodes } from './stream-codes.ts';
import { readerTokenCodes } from './reader-token-codes.ts';
import { webhookCodes } from './webhook-codes.ts';

const all = {
  ...ledgerCodes,
  ...storeCodes,
  ...streamCodes,
  ...commandCodes,
  ...embeddedCodes,
  ...readerTokenCodes,
  ...webhookCodes,
};

/** Stable: logs, metrics, `/status` and alerts show it. */
export type ErrorCode = keyof typeof all;
export type LedgerErrorCode = keyof typeof ledgerCodes;
export type StoreErrorCode = keyof typeof storeCodes;

export const catalogue: Readonly<Record<ErrorCode, FailureKind>> = all;

export function isLedgerCode(code: string): code is LedgerErrorCode {
  return code in ledgerCodes;
}

/** Which side of the indexer a failure is on. */
export type Side = 'ledger' | 'store' | 'pipeline';

export function sideOf(code: ErrorCode): Side {
  if (isLedgerCode(code)) return 'ledger';
  return code in storeCodes ? 'store' : 'pipeline';
}
