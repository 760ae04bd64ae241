/**
 * Finds the end of a bounded run. The run is read as a sequence of streams that the ledger ends. No stream ends after
 * the current ledger end, so the ledger never sends an update above the end of the run. A participant or a proxy that
 * shuts down also ends a stream cleanly. Therefore, if a stream ends before any update arrived, a request of another
 * kind checks the same range.
 */
import { pause } from '../../config/pause.ts';
import { IndexerError } from '../../errors/indexer-error.ts';
import { updatesRequest } from '../../ledger/api/request-format.ts';
import type { StreamState } from '../../model/stream.ts';
import type { PipelineParts } from '../ports/parts.ts';

/** Interval of ledger-end polls while the end of the run is past the ledger end, in milliseconds. */
const ledgerEndPollMs = 500;

/**
 * Returns if the stream can end exactly at `stopAt`.
 * @throws IndexerError STOP_AT_REFUSED (fatal, exit 78)
 */
export function assertStopReachable(
  stopAt: number,
  start: PipelineParts['start'],
  state: StreamState,
  pruned: number,
): void {
  const { checkpoint, seeded, seedOffset, seedToken } = state;
  if (seeded && checkpoint !== null) {
    if (checkpoint <= stopAt) return;
    throw refusalError(
      `the checkpoint ${String(checkpoint)} is past the end ${String(stopAt)} of this run`,
      `choose a later end, index into another POSTGRES_SCHEMA, or go back: ledger-indexer reset --to ${String(stopAt)} --yes`,
    );
  }
  if (typeof start === 'number' && start > stopAt) {
    throw refusalError(
      `the start ${String(start)} is past the end ${String(stopAt)}`,
      'set INDEXER_START to an offset before INDEXER_STOP_AT',
    );
  }
  if (start === 'seed' && seedToken !== null && seedOffset !== null && seedOffset > stopAt) {
    throw refusalError(
      `a seed at offset ${String(seedOffset)} was begun, past the end ${String(stopAt)} of this run`,
      'run without an end to finish it, or start over: ledger-indexer reset --all --yes',
    );
  }
  // If the start is `genesis`, the ledger itself refuses the request and reports the offset up to which it is pruned.
  if ((start === 'seed' || start === 'oldest') && pruned > stopAt) {
    throw refusalError(
      `the participant was pruned up to ${String(pruned)}, past the end ${String(stopAt)} of this run`,
      `choose an end of ${String(pruned)} or later`,
    );
  }
}

function refusalError(message: string, remedy: string): IndexerError {
  return new IndexerError(message, {
    code: 'STOP_AT_REFUSED',
    remedy,
  });
}

/**
 * Resolves to the end of the next stream after `checkpoint`: the lower of `stopAt` and the ledger end. Waits until the
 * ledger end is past the checkpoint. Resolves to undefined when a stop was requested.
 */
export async function nextEnd(parts: PipelineParts, checkpoint: number, stopAt: number): Promise<number | undefined> {
  while (!parts.stop.aborted) {
    const end = Math.min(stopAt, await parts.ledger.state.ledgerEnd());
    if (end > checkpoint) return end;
    await pause(ledgerEndPollMs, parts.stop);
  }
  return undefined;
}

/**
 * Whether the ledger has no updates after `from` and up to `end`. It is requested over HTTP, because only a working
 * participant can send this HTTP response, whereas any proxy can close a stream cleanly.
 */
export async function isRangeEmpty(
  { ledger, filter }: Pick<PipelineParts, 'ledger' | 'filter'>,
  from: number,
  end: number,
): Promise<boolean> {
  if (from >= end) return true;
  for await (const _first of ledger.updates.list(updatesRequest(from, filter, end), { limit: 1 })) return false;
  return true;
}

/** The error if the ledger sent an offset past the requested end. */
export function pastEndError(offset: number, end: number): IndexerError {
  return new IndexerError(`the ledger sent offset ${String(offset)}, past the requested end ${String(end)}`, {
    code: 'LEDGER_OUT_OF_ORDER',
    facts: { offset, end },
  });
}
