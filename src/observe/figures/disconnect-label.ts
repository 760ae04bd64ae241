import { isLedgerCode } from '../../errors/catalogue.ts';

/** The label of the metric: few values, known beforehand. The log line keeps the exact code. */
export function disconnectLabel(code: string): string {
  if (code === 'LEDGER_PING_TIMEOUT') return 'no_pong';
  if (code === 'LEDGER_UNREACHABLE') return '1006';
  return isLedgerCode(code) ? 'error_frame' : code;
}
