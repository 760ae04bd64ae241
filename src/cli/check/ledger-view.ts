/** What the checks of the ledger side share. */
import type { Config } from '../../config/config.ts';
import type { LedgerClient } from '../../ledger/api/client.ts';
import type { LedgerAccess } from '../../access.ts';

/** The participant as the checks see it; each lookup is made once. */
export interface LedgerView {
  readonly config: Config;
  readonly url: string;
  readonly client: LedgerClient;
  readonly access: LedgerAccess;
  readonly end: () => Promise<number>;
  readonly pruned: () => Promise<number>;
  readonly participantId: () => Promise<string>;
  readonly signal: AbortSignal;
}
