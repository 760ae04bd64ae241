/**
 * The end of a bounded run. It is read as a row of streams that end by themselves, none further than the ledger is at
 * the time, so that nothing above the end is ever sent. A clean end may also be that of a participant, or of a proxy,
 * that shuts down; so where one ends before anything came, the ledger is asked for the same stretch in another way.
 */
import { pause } from '../../config/pause.ts';
import { IndexerError } from '../../errors/indexer-error.ts';
import { updatesRequest } from '../../ledger/api/request-format.ts';
import type { StreamState } from '../../model/stream.ts';
import type { PipelineParts } from '../ports/parts.ts';

/** How often the ledger end is looked at while the end of the run lies beyond it, milliseconds. */
const ledgerEndPollMs = 500;

/**
 * Passes when the stream can end exactly at `stopAt`.
 * @throws IndexerError STOP_AT_REFUSED (fatal, exit 78)
 */
export function refuseBound(stopAt: number, start: PipelineParts['start'], state: StreamState, pruned: number): void {
  const { checkpoint, seeded, seedOffset, seedToken } = state;
  if (seeded && checkpoint !== null) {
    if (checkpoint <= stopAt) return;
    throw refused(
      `the checkpoint ${String(checkpoint)} is past the end ${String(stopAt)} of this run`,
      `name a later end, index into another POSTGRES_SCHEMA, or go back: ledger-indexer reset --to ${String(stopAt)} --yes`,
    );
  }
  if (typeof start === 'number' && start > stopAt) {
    throw refused(
      `the start ${String(start)} is past the end ${String(stopAt)}`,
      'let INDEXER_START come before INDEXER_STOP_AT',
    );
  }
  if (start === 'seed' && seedToken !== null && seedOffset !== null && seedOffset > stopAt) {
    throw refused(
      `a seed at offset ${String(seedOffset)} was begun, past the end ${String(stopAt)} of this run`,
      'let it finish without an end, or start over: ledger-indexer reset --all --yes',
    );
  }
  // What begins at the genesis is refused by the ledger itself, by its own offset.
  if ((start === 'seed' || start === 'oldest') && pruned > stopAt) {
    throw refused(
      `the participant was pruned up to ${String(pruned)}, past the end ${String(stopAt)} of this run`,
      `name an end from ${String(pruned)} on`,
    );
  }
}

function refused(found: string, remedy: string): IndexerError {
  return new IndexerError(found, {
    code: 'STOP_AT_REFUSED',
    remedy,
  });
}

/**
 * Where the next stream after `checkpoint` ends: at `stopAt`, or at the ledger end while that comes before it. Waits
 * until there is something between; undefined when a stop was asked for.
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
 * Whether the ledger has nothing to show above `from` up to `end`: an answer over HTTP, unlike a clean close, is given
 * by nobody but a participant that is at work.
 */
export async function nothingLeft(
  { ledger, filter }: Pick<PipelineParts, 'ledger' | 'filter'>,
  from: number,
  end: number,
): Promise<boolean> {
  if (from >= end) return true;
  for await (const _first of ledger.updates.list(updatesRequest(from, filter, end), { limit: 1 })) return false;
  return true;
}

/** An offset came that was not asked for. */
export function pastEnd(offset: number, end: number): IndexerError {
  return new IndexerError(`the ledger sent offset ${String(offset)}, asked for updates up to ${String(end)}`, {
    code: 'LEDGER_OUT_OF_ORDER',
    facts: { offset, end },
  });
}
