/** Opens the ledger client that commands use for the configured participant. */
import { openAccess, type LedgerAccess } from '../../ledger/open-access.ts';
import type { LedgerConfig } from '../../config/config.ts';
import { createLedgerClient, type LedgerClient } from '../../ledger/api/client.ts';

export interface ClientOptions {
  readonly ledger: LedgerConfig;
  /** The URL of the ledger, which must be set. */
  readonly url: string;
  readonly requestTimeoutMs: number;
  /** Aborts running requests. */
  readonly stop: AbortSignal;
}

/** @throws IndexerError as `openAccess` does */
export async function openClient(
  options: ClientOptions,
): Promise<{ readonly access: LedgerAccess; readonly client: LedgerClient }> {
  const { ledger, url, requestTimeoutMs, stop } = options;
  const { insecure, maxFrameBytes: maxResponseBytes } = ledger;
  const access = await openAccess(ledger, stop);
  const client = createLedgerClient({
    ...access,
    url,
    insecure,
    maxAnswerBytes: maxResponseBytes,
    requestTimeoutMs,
    signal: stop,
  });
  return { access, client };
}
