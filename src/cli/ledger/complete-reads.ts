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
import { judgedRefusal } from '../../pipeline/proof/in-flight.ts';
import { ListTally, unproven } from '../../pipeline/proof/list-proof.ts';
import { frames, type StreamCall } from './streams.ts';

/** Parameters of a read that has an end. */
export type ReadCall = StreamCall & { readonly client: LedgerClient };

const listPath = '/v2/state/active-contracts';

/**
 * The frames of all contracts active at an offset. If it is stopped, it ends early without an error.
 * @throws IndexerError LEDGER_STREAM_TRUNCATED if the list cannot be verified as complete; the error that ended the
 * stream
 */
export async function* readAllActiveContracts(
  call: ReadCall,
  offset: number,
  filter: LedgerFilter,
): AsyncGenerator<readonly string[]> {
  const release = await readRelease(call.client);
  const read = new ListTally();
  const questions = { ledger: call.client, streamed: (request: object) => frames(call, listPath, request) };
  for (;;) {
    const before = read.count;
    const request = activeContractsRequest(offset, filter, release, read.token ?? undefined);
    try {
      for await (const texts of frames(call, listPath, request)) {
        for (const text of texts) read.addText(text);
        yield texts;
      }
    } catch (thrown) {
      throw await judgedRefusal(toIndexerError(thrown), offset, call.client);
    }
    if (call.stop.aborted) return;
    const cut = await unproven({ offset, filter, release, read }, questions).catch(async (thrown: unknown) => {
      throw await judgedRefusal(toIndexerError(thrown), offset, call.client);
    });
    if (cut === undefined) return;
    // Resumes after a continuation token as long as there is progress.
    if (read.token === null || read.count === before) throw cut;
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
  call: ReadCall,
  { from, to, filter, read }: Range<T>,
): AsyncGenerator<readonly T[]> {
  let reached = from;
  for (;;) {
    const before = reached;
    for await (const texts of frames(call, '/v2/updates', updatesRequest(reached, filter, to))) {
      const rows = texts.map(read);
      reached = rows.at(-1)?.offset ?? reached;
      yield rows;
    }
    if (call.stop.aborted || (await isRangeEmpty({ ledger: call.client, filter }, reached, to))) return;
    if (reached === before) throw cutShort(reached, to);
  }
}

function cutShort(reached: number, to: number): Error {
  const found =
    `the updates after ${String(reached)} up to ${String(to)} cannot be verified as complete: the stream was closed with code ` +
    '1000 before any of them, and the ledger has some';
  return ledgerError('LEDGER_STREAM_TRUNCATED', found, { facts: { offset: reached, end: to } });
}
