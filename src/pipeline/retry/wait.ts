/** Waits after a failure. The wait ends earlier if the cause of the failure is gone. */
import { pause } from '../../config/pause.ts';
import { toIndexerError, type IndexerError } from '../../errors/indexer-error.ts';
import { updatesRequest } from '../../ledger/api/request-format.ts';
import type { PipelineParts } from '../ports/parts.ts';
import { retryAfterMs } from './retry.ts';

/** Failures that another token may fix. */
const tokenErrorCodes: ReadonlySet<string> = new Set([
  'LEDGER_UNAUTHENTICATED',
  'LEDGER_PERMISSION_DENIED',
  'LEDGER_TOKEN_EXPIRED',
  'LEDGER_TOKEN_MALFORMED',
  'LEDGER_TOKEN_UNREADABLE',
]);
/** Failures that a command, which changes the database, may fix. */
const storedStateCodes: ReadonlySet<string> = new Set([
  'PARTICIPANT_CHANGED',
  'HISTORY_CHANGED',
  'FILTER_CHANGED',
  'LEDGER_PRUNED',
  'LEDGER_BEHIND_CHECKPOINT',
  'LEDGER_OFFSET_AFTER_END',
  'STREAM_HANDED_OVER',
  'STREAM_NOT_OPEN',
]);

/** Whether the ledger refused the caller, and not the request. */
export function isCallerRefused({ code, retry }: IndexerError): boolean {
  return retry === 'refresh-token' || code === 'LEDGER_PERMISSION_DENIED';
}

/**
 * Waits for the delay. Ends earlier when `signal` is aborted, or if the error concerns the token and there is another
 * token.
 */
export async function pauseForToken(
  { tokenSource }: Pick<PipelineParts, 'tokenSource'>,
  error: IndexerError,
  delayMs: number,
  signal: AbortSignal,
): Promise<void> {
  if (!tokenErrorCodes.has(error.code)) return await pause(delayMs, signal);
  const endController = new AbortController();
  const anySignal = AbortSignal.any([signal, endController.signal]);
  await Promise.race([pause(delayMs, anySignal), tokenSource.replaced(anySignal)]);
  endController.abort();
}

/**
 * The same as `pauseForToken`, but also ends earlier when refused rights are granted. The ledger is queried for this
 * during the wait.
 */
export async function pauseForRights(parts: PipelineParts, error: IndexerError, delayMs: number): Promise<void> {
  if (error.code !== 'LEDGER_PERMISSION_DENIED') return await pauseForToken(parts, error, delayMs, parts.stop);
  const endController = new AbortController();
  const anySignal = AbortSignal.any([parts.stop, endController.signal]);
  await Promise.race([pauseForToken(parts, error, delayMs, anySignal), rightsGranted(parts, anySignal)]);
  endController.abort();
}

/**
 * The same for a parked stream. Also ends earlier when a command has changed the database state because of which the
 * stream parked.
 */
export async function pauseParked(parts: PipelineParts, error: IndexerError, delayMs: number): Promise<void> {
  if (!storedStateCodes.has(error.code)) return await pauseForRights(parts, error, delayMs);
  const endController = new AbortController();
  const anySignal = AbortSignal.any([parts.stop, endController.signal]);
  await Promise.race([pause(delayMs, anySignal), waitForStateChange(parts, anySignal)]);
  endController.abort();
}

/** Resolves when the stored state of the stream differs from the first one read, or `signal` is aborted. */
async function waitForStateChange({ sink, pace }: PipelineParts, signal: AbortSignal): Promise<void> {
  let first: string | undefined;
  while (!signal.aborted) {
    const now = await sink.marks.standing().catch(() => undefined);
    if (first !== undefined && now !== undefined && now !== first) return;
    first ??= now;
    await pause(pace.commandsMs, signal);
  }
}

/**
 * Resolves when rights that were missing are granted, or `signal` is aborted. If this request never failed, only the
 * stream was refused, perhaps by a gateway, and its success has no meaning.
 */
async function rightsGranted(parts: PipelineParts, signal: AbortSignal): Promise<void> {
  let isMissing = false;
  while (!signal.aborted) {
    const rightsError = await findRightsError(parts);
    if (rightsError === undefined && isMissing) return;
    isMissing ||= rightsError !== undefined && isCallerRefused(rightsError);
    const minDelayMs = rightsError === undefined ? 0 : retryAfterMs(rightsError);
    // A random part of a quarter more or less, because many indexers must not send requests at the same moment.
    await pause(Math.max(minDelayMs, parts.pace.rightsMs * (0.75 + Math.random() / 2)), signal);
  }
}

/** Requests the updates of an empty range, which requires every right of the filter. */
async function findRightsError({ ledger, filter }: PipelineParts): Promise<IndexerError | undefined> {
  try {
    const end = await ledger.state.ledgerEnd();
    for await (const _first of ledger.updates.list(updatesRequest(end, filter, end), { limit: 1 })) break;
    return undefined;
  } catch (thrown) {
    const error = toIndexerError(thrown);
    // Rights are checked first, so a client that receives another error has them.
    return error.retry === 'park' && !isCallerRefused(error) ? undefined : error;
  }
}
