/**
 * Builds a batch from frames. It decodes a few frames at a time, so that the sockets of ledger and database are served
 * in between.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { toIndexerError, type IndexerError } from '../../errors/indexer-error.ts';
import type { Batch } from '../../model/batch.ts';
import type { Utf8 } from '../../model/utf8.ts';
import type { BatchFacts } from '../ports/observer.ts';
import { textOf, type StoredFrame } from './frame-memory.ts';

/**
 * Number of frames decoded in one turn. If more frames were decoded in one turn, the Postgres socket would not be
 * served, and both sockets would wait for each other.
 */
const framesPerTurn = 8;
const bytesPerTurn = 64 * 1024;

export interface BatchResult {
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
export async function buildBatch(frames: readonly StoredFrame[], add: (frame: Utf8) => void): Promise<BatchResult> {
  let bytes = 0;
  let decodeMs = 0;
  let currentTurn = { index: 0, bytes: 0, started: performance.now() };
  for (const [index, frame] of frames.entries()) {
    if (index - currentTurn.index >= framesPerTurn || bytes - currentTurn.bytes >= bytesPerTurn) {
      decodeMs += performance.now() - currentTurn.started;
      await nextTurn();
      currentTurn = { index, bytes, started: performance.now() };
    }
    try {
      add(textOf(frame));
    } catch (thrown) {
      return { frames: index, bytes, seconds: decodeMs / 1000, error: toIndexerError(thrown) };
    }
    bytes += frame.end - frame.start;
  }
  decodeMs += performance.now() - currentTurn.started;
  return { frames: frames.length, bytes, seconds: decodeMs / 1000, error: undefined };
}

/** Facts of a committed batch, for the observer. */
export function batchFactsOf(
  batch: Batch,
  rows: ReadonlyMap<string, number>,
  builtBatch: BatchResult,
  commitSeconds: number,
): BatchFacts {
  const recordTimesMs = [...batch.recordTimes.values()].map((time) => Date.parse(time));
  return {
    checkpoint: batch.offset,
    updates: batch.updatesByKind,
    events: batch.eventsByType,
    rows,
    unknown: batch.unknown.all,
    fallbackDecodedTransactions: batch.unknown.fallbackDecodedTransactions,
    recordTimeMs: recordTimesMs.length === 0 ? undefined : Math.max(...recordTimesMs),
    bytes: builtBatch.bytes,
    commitSeconds,
    decodeSeconds: builtBatch.seconds,
  };
}
