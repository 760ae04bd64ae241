/** Reads all updates of a past range of offsets. If any of them cannot be read, it returns none. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { IndexerError } from '../errors/indexer-error.ts';
import { updatesRequest } from '../ledger/api/request-format.ts';
import type { StoredUpdate } from '../model/update.ts';
import { outOfOrderError } from './follow/follow-errors.ts';
import { refuseUnknownKind } from './follow/unknown-kinds.ts';
import { updateOf } from './participant/with-participant-offsets.ts';
import { isRangeEmpty, pastEndError } from './intake/bound.ts';
import type { PipelineParts } from './ports/parts.ts';

/** If no frame arrives for this long, reading from the stream is abandoned. */
const silenceLimitMs = 60_000;
/** Number of frames that are decoded before other tasks may run. */
const framesPerTurn = 8;

/** A range of offsets: updates after `from` and up to `to`. */
interface EarlierRange {
  readonly from: number;
  readonly to: number;
  /** Maximum number of updates to read. */
  readonly most: number;
}

/**
 * Resolves to all updates of a range that match the filter, in order. Resolves to undefined when stopped, or when it is
 * certain that there are more than `most`.
 * @throws IndexerError: the ledger's error, UPDATE_UNDECODABLE, UPDATE_KIND_UNKNOWN
 */
export async function earlierUpdates(
  parts: PipelineParts,
  { from, to, most: maxUpdates }: EarlierRange,
  signal: AbortSignal,
): Promise<readonly StoredUpdate[] | undefined> {
  const updates: StoredUpdate[] = [];
  let reachedOffset = from;
  // A gateway that closes the stream early can also cause a clean end, so a separate request checks that no update is
  // left.
  do {
    const frames = await readStreamed(parts, { from: reachedOffset, to, most: maxUpdates - updates.length }, signal);
    if (frames === undefined || signal.aborted) return undefined;
    for (const [index, frame] of frames.entries()) {
      if (index % framesPerTurn === 0) await nextTurn();
      const update = updateOf(parts, frame);
      if (update.kind === 'offset_checkpoint') continue;
      refuseUnknownKind(update, parts.unknownUpdates);
      if (update.offset > to) throw pastEndError(update.offset, to);
      if (update.offset <= reachedOffset) throw outOfOrderError(update.offset, reachedOffset);
      reachedOffset = update.offset;
      updates.push(update);
    }
  } while (!(await isRangeEmpty(parts, reachedOffset, to)));
  return updates;
}

/** Resolves to the frames of one stream up to its clean end. Resolves to undefined when reading was stopped. */
async function readStreamed(
  parts: PipelineParts,
  { from, to, most: maxUpdates }: EarlierRange,
  signal: AbortSignal,
): Promise<readonly string[] | undefined> {
  const token = await parts.tokenSource.lease();
  const request = updatesRequest(from, parts.filter, to);
  return new Promise((resolve, reject) => {
    const frames: string[] = [];
    const finishWith = (settlePromise: () => void): void => {
      clearInterval(watch);
      signal.removeEventListener('abort', abandonRead);
      stream.close();
      settlePromise();
    };
    const abandonRead = (): void => finishWith(() => resolve(undefined));
    let lastHeardMs = performance.now();
    const stream = parts.openStream({
      path: '/v2/updates',
      request,
      token: token?.token,
      onFrame: (frame) => {
        lastHeardMs = performance.now();
        frames.push(frame.toString());
        // Some of the frames are checkpoints, so a few more than `most` are allowed.
        if (frames.length > maxUpdates + Math.max(16, maxUpdates)) abandonRead();
      },
      onEnd: (error) => finishWith(() => (error === undefined ? resolve(frames) : reject(error))),
    });
    const watch = setInterval(() => {
      if (performance.now() - lastHeardMs > silenceLimitMs) finishWith(() => reject(silentStreamError(from, to)));
    }, 1_000);
    signal.addEventListener('abort', abandonRead, { once: true });
    if (signal.aborted) abandonRead();
  });
}

function silentStreamError(from: number, to: number): IndexerError {
  return new IndexerError(`the ledger sent nothing for a minute of the updates from ${String(from)} to ${String(to)}`, {
    code: 'LEDGER_STREAM_CLOSED',
  });
}
