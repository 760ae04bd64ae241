/**
 * Reads that have an end: active contracts at an offset, and updates in a range. A clean close may come from a gateway.
 * So each read continues after the last frame until the ledger has no more data, or fails.
 */
import type { LedgerClient } from '../../ledger/api/client.ts';
import { toIndexerError } from '../../errors/indexer-error.ts';
import { ledgerError } from '../../ledger/errors/make-ledger-error.ts';
import { activeContractsRequest, updatesRequest, type LedgerFilter } from '../../ledger/api/request-format.ts';
import { readRelease } from '../../ledger/api/release.ts';
import { isRangeEmpty } from '../../pipeline/intake/bound.ts';
import { correctRefusal } from '../../pipeline/proof/in-flight.ts';
import { ListTally, findListError } from '../../pipeline/proof/list-proof.ts';
import { frames, type StreamCall } from './streams.ts';

/** Parameters of a read that has an end. */
export type ListCall = StreamCall & { readonly client: LedgerClient };

const listPath = '/v2/state/active-contracts';

/**
 * The frames of all contracts active at an offset. If it is stopped, it ends early without an error.
 * @throws IndexerError LEDGER_STREAM_TRUNCATED if the list cannot be verified as complete; the error that ended the
 * stream
 */
export async function* readAllActiveContracts(
  call: ListCall,
  offset: number,
  filter: LedgerFilter,
): AsyncGenerator<readonly string[]> {
  const release = await readRelease(call.client);
  const tally = new ListTally();
  const listReads = { ledger: call.client, streamed: (request: object) => frames(call, listPath, request) };
  for (;;) {
    const before = tally.count;
    const request = activeContractsRequest(offset, filter, release, tally.token ?? undefined);
    try {
      for await (const texts of frames(call, listPath, request)) {
        for (const text of texts) tally.addText(text);
        yield texts;
      }
    } catch (thrown) {
      throw await correctRefusal(toIndexerError(thrown), offset, call.client);
    }
    if (call.stop.aborted) return;
    const unverifiedReason = await findListError({ offset, filter, release, read: tally }, listReads).catch(
      async (thrown: unknown) => {
        throw await correctRefusal(toIndexerError(thrown), offset, call.client);
      },
    );
    if (unverifiedReason === undefined) return;
    // Resumes after a continuation token as long as there is progress.
    if (tally.token === null || tally.count === before) throw unverifiedReason;
  }
}

export interface Range<T> {
  /** Exclusive start of the range. */
  readonly from: number;
  readonly to: number;
  readonly filter: LedgerFilter;
  /** Returns the update in a frame, with its offset. */
  readonly read: (text: string) => T;
}

/**
 * The updates of a range. If it is stopped, it ends early without an error.
 * @throws IndexerError LEDGER_STREAM_TRUNCATED if the range cannot be verified as complete; the error that ended the
 * stream
 */
export async function* readAllUpdates<T extends { readonly offset: number }>(
  call: ListCall,
  { from, to, filter, read: parse }: Range<T>,
): AsyncGenerator<readonly T[]> {
  let reachedOffset = from;
  for (;;) {
    const before = reachedOffset;
    for await (const texts of frames(call, '/v2/updates', updatesRequest(reachedOffset, filter, to))) {
      const rows = texts.map(parse);
      reachedOffset = rows.at(-1)?.offset ?? reachedOffset;
      yield rows;
    }
    if (call.stop.aborted || (await isRangeEmpty({ ledger: call.client, filter }, reachedOffset, to))) return;
    if (reachedOffset === before) throw truncatedError(reachedOffset, to);
  }
}

function truncatedError(reachedOffset: number, to: number): Error {
  const message =
    `the updates after ${String(reachedOffset)} up to ${String(to)} cannot be verified as complete: the stream was closed with code ` +
    '1000 before any of them, and the ledger has some';
  return ledgerError('LEDGER_STREAM_TRUNCATED', message, { facts: { offset: reachedOffset, end: to } });
}
