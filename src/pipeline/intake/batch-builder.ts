/**
 * Builds a batch from frames. It decodes a few frames at a time, so that the sockets of ledger and database are served
 * in between.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { toIndexerError, type IndexerError } from '../../errors/indexer-error.ts';
import type { Batch } from '../../model/batch.ts';
import type { Utf8 } from '../../model/utf8.ts';
import type { BatchFacts } from '../ports/observer.ts';
import { textOf, type KeptFrame } from './frame-memory.ts';

/**
 * Number of frames decoded in one turn. If more frames were decoded in one turn, the Postgres socket would not be
 * served, and both sockets would wait for each other.
 */
const framesPerTurn = 8;
const bytesPerTurn = 64 * 1024;

export interface Built {
  /** Number of frames in the batch. */
  readonly frames: number;
  readonly bytes: number;
  readonly seconds: number;
  /**
   * Why the next frame could not be decoded; undefined if all frames were decoded. The updates that were decoded before
   * it have to be written first.
   */
  readonly error: IndexerError | undefined;
}

/** Passes every frame to `add`, which adds it to the batch. Stops at the first frame that cannot be decoded. */
export async function buildBatch(frames: readonly KeptFrame[], add: (frame: Utf8) => void): Promise<Built> {
  let bytes = 0;
  let busyMs = 0;
  let turn = { index: 0, bytes: 0, started: performance.now() };
  for (const [index, frame] of frames.entries()) {
    if (index - turn.index >= framesPerTurn || bytes - turn.bytes >= bytesPerTurn) {
      busyMs += performance.now() - turn.started;
      await nextTurn();
      turn = { index, bytes, started: performance.now() };
    }
    try {
      add(textOf(frame));
    } catch (thrown) {
      return { frames: index, bytes, seconds: busyMs / 1000, error: toIndexerError(thrown) };
    }
    bytes += frame.end - frame.start;
  }
  busyMs += performance.now() - turn.started;
  return { frames: frames.length, bytes, seconds: busyMs / 1000, error: undefined };
}

/** Facts of a committed batch, for the observer. */
export function factsOf(
  batch: Batch,
  rows: ReadonlyMap<string, number>,
  built: Built,
  commitSeconds: number,
): BatchFacts {
  const times = [...batch.recordTimes.values()].map((time) => Date.parse(time));
  return {
    checkpoint: batch.offset,
    updates: batch.updatesByKind,
    events: batch.eventsByType,
    rows,
    unknown: batch.unknown.all,
    fallbackDecodedTransactions: batch.unknown.fallbackDecodedTransactions,
    recordTimeMs: times.length === 0 ? undefined : Math.max(...times),
    bytes: built.bytes,
    commitSeconds,
    decodeSeconds: built.seconds,
  };
}
