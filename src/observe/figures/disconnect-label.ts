import { isLedgerCode } from '../../errors/catalogue.ts';

/** Label of the metric for a close code. It has one of a few fixed values. The log line contains the exact code. */
export function disconnectLabel(code: string): string {
  if (code === 'LEDGER_PING_TIMEOUT') return 'no_pong';
  if (code === 'LEDGER_UNREACHABLE') return '1006';
  return isLedgerCode(code) ? 'error_frame' : code;
}
