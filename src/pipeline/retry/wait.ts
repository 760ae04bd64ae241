/** Waiting after a failure, no longer than what failed stays as it is. */
import { pause } from '../../config/pause.ts';
import { toIndexerError, type IndexerError } from '../../errors/indexer-error.ts';
import { updatesRequest } from '../../ledger/api/request-format.ts';
import type { PipelineParts } from '../ports/parts.ts';
import { retryAfterMs } from './retry.ts';

/** Another token may be all that is missing. */
const ofToken: ReadonlySet<string> = new Set([
  'LEDGER_UNAUTHENTICATED',
  'LEDGER_PERMISSION_DENIED',
  'LEDGER_TOKEN_EXPIRED',
  'LEDGER_TOKEN_MALFORMED',
  'LEDGER_TOKEN_UNREADABLE',
]);
/** A command in the database may be all that is missing. */
const ofStored: ReadonlySet<string> = new Set([
  'PARTICIPANT_CHANGED',
  'HISTORY_CHANGED',
  'FILTER_CHANGED',
  'LEDGER_PRUNED',
  'LEDGER_BEHIND_CHECKPOINT',
  'LEDGER_OFFSET_AFTER_END',
  'STREAM_HANDED_OVER',
  'STREAM_NOT_OPEN',
]);

/** Whether the ledger refused the caller, and not what was asked for. */
export function refusesCaller({ code, retry }: IndexerError): boolean {
  return retry === 'refresh-token' || code === 'LEDGER_PERMISSION_DENIED';
}

/** Waits for the delay; less when `signal` is aborted, or there is another token and the error was about that. */
export async function pauseForToken(
  { tokenSource }: Pick<PipelineParts, 'tokenSource'>,
  error: IndexerError,
  delayMs: number,
  signal: AbortSignal,
): Promise<void> {
  if (!ofToken.has(error.code)) return await pause(delayMs, signal);
  const over = new AbortController();
  const either = AbortSignal.any([signal, over.signal]);
  await Promise.race([pause(delayMs, either), tokenSource.replaced(either)]);
  over.abort();
}

/** The same, and less when rights that were refused are granted: between attempts the ledger is asked for just that. */
export async function pauseForRights(parts: PipelineParts, error: IndexerError, delayMs: number): Promise<void> {
  if (error.code !== 'LEDGER_PERMISSION_DENIED') return await pauseForToken(parts, error, delayMs, parts.stop);
  const over = new AbortController();
  const either = AbortSignal.any([parts.stop, over.signal]);
  await Promise.race([pauseForToken(parts, error, delayMs, either), rightsGranted(parts, either)]);
  over.abort();
}

/** The same for a stream that is parked, and less when a command has changed in the database what it parked for. */
export async function pauseParked(parts: PipelineParts, error: IndexerError, delayMs: number): Promise<void> {
  if (!ofStored.has(error.code)) return await pauseForRights(parts, error, delayMs);
  const over = new AbortController();
  const either = AbortSignal.any([parts.stop, over.signal]);
  await Promise.race([pause(delayMs, either), standsOtherwise(parts, either)]);
  over.abort();
}

/** Resolves once the stream stands otherwise than when it was asked first, or `signal` is aborted. */
async function standsOtherwise({ sink, pace }: PipelineParts, signal: AbortSignal): Promise<void> {
  let first: string | undefined;
  while (!signal.aborted) {
    const now = await sink.marks.standing().catch(() => undefined);
    if (first !== undefined && now !== undefined && now !== first) return;
    first ??= now;
    await pause(pace.commandsMs, signal);
  }
}

/**
 * Resolves once rights are there that were seen missing, or `signal` is aborted. Where this question was answered all the
 * time, the stream alone was refused, by a gateway perhaps, and the answer says nothing of that.
 */
async function rightsGranted(parts: PipelineParts, signal: AbortSignal): Promise<void> {
  let missing = false;
  while (!signal.aborted) {
    const refused = await refusedRights(parts);
    if (refused === undefined && missing) return;
    missing ||= refused !== undefined && refusesCaller(refused);
    const atLeastMs = refused === undefined ? 0 : retryAfterMs(refused);
    // A quarter more or less: many indexers must not ask at the same moment.
    await pause(Math.max(atLeastMs, parts.pace.rightsMs * (0.75 + Math.random() / 2)), signal);
  }
}

/** Asks for the updates of an empty stretch: it takes every right of the filter to be told that there are none. */
async function refusedRights({ ledger, filter }: PipelineParts): Promise<IndexerError | undefined> {
  try {
    const end = await ledger.state.ledgerEnd();
    for await (const _first of ledger.updates.list(updatesRequest(end, filter, end), { limit: 1 })) break;
    return undefined;
  } catch (thrown) {
    const error = toIndexerError(thrown);
    // Rights are looked at first: who is told of another mistake has them.
    return error.retry === 'park' && !refusesCaller(error) ? undefined : error;
  }
}
