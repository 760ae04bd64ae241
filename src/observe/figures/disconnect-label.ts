import { isLedgerCode } from '../../errors/catalogue.ts';

/** Value of the metric's label: one of a few, known beforehand. The log line keeps the exact code. */
export function disconnectLabel(code: string): string {
  if (code === 'LEDGER_PING_TIMEOUT') return 'no_pong';
  if (code === 'LEDGER_UNREACHABLE') return '1006';
  return isLedgerCode(code) ? 'error_frame' : code;
}
