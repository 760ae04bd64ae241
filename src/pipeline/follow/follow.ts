/**
 * Follows the updates after the checkpoint until it is stopped. The frames that have arrived are taken together and
 * become one batch and one transaction. A batch therefore contains the updates that arrived while earlier batches were
 * written. No timer delays a batch, so there is no added latency on an idle stream. Under load, batches are full, and
 * the next one is built while the last one is written.
 */
import {
  EMPTY,
  catchError,
  concatMap,
  defer,
  finalize,
  of,
  repeat,
  takeWhile,
  throwError,
  type Observable,
} from 'rxjs';
import { atOffset, IndexerError, toIndexerError } from '../../errors/indexer-error.ts';
import { updatesRequest } from '../../ledger/api/request-format.ts';
import type { Batch } from '../../model/batch.ts';
import type { StoredUpdate, Update } from '../../model/update.ts';
import type { Utf8 } from '../../model/utf8.ts';
import { withRange, type OffsetRange } from '../retry/isolate-failing-update.ts';
import { buildBatch, batchFactsOf, type BatchResult } from '../intake/batch-builder.ts';
import { withOffsetContext, outOfOrderError } from './follow-errors.ts';
import { frames$, type Frames } from '../intake/frames.ts';
import { updateOf } from '../participant/with-participant-offsets.ts';
import { nextEnd, isRangeEmpty, pastEndError } from '../intake/bound.ts';
import type { PipelineParts } from '../ports/parts.ts';
import type { WriterSession } from '../ports/sink.ts';
import { quarantineUpdate, type UpdateFailure } from './quarantine.ts';
import { probeWhileIdle } from '../proof/idle-probe.ts';
import { bytesOf, type StoredFrame } from '../intake/frame-memory.ts';
import { storeLateUpdate } from './late-update.ts';
import { orderOfOffset } from './offset-order.ts';
import { watchSlowWrites, WriteQueue } from './write-queue.ts';
import { hasNewerToken, newerToken } from '../intake/token-renewal.ts';
import { refuseUnknownKind } from './unknown-kinds.ts';
import type { BatchSpan } from '../ports/tracer.ts';

/** If this many updates are waiting, the next batch is built before a write slot is free. */
const maxAheadUpdates = 256;
const maxAheadBytes = 512 * 1024;

/** State that the session shares with its follow stream. */
export interface FollowState {
  /** Newest checkpoint committed in this session. */
  checkpoint: number;
  /** Monotonic time of the newest frame, milliseconds. */
  lastFrameAt: () => number;
  /** Reopens the stream with another token, if there is one. */
  renew: () => void;
  /**
   * A range in which each update is written in a separate transaction, because Postgres rejected the range as a batch.
   */
  readonly apart: OffsetRange;
  /** The last offset to store; undefined if the run has no end. */
  readonly stopAt: number | undefined;
  onCommitted(checkpoint: number): void;
}

/**
 * Emits checkpoints as they are committed. Completes when a stop was requested, or at the end of a bounded run. When
 * there is a newer access token, the current batch is committed. The next stream then resumes from the checkpoint with
 * the newer token.
 */
export function follow$(parts: PipelineParts, session: WriterSession, followState: FollowState): Observable<number> {
  let renewal = false;
  const isOver = (): boolean => parts.stop.aborted || followState.checkpoint >= (followState.stopAt ?? Infinity);
  const stream$ = (end: number | undefined): Observable<number> =>
    frames$(parts, '/v2/updates', updatesRequest(followState.checkpoint, parts.filter, end), renewal).pipe(
      concatMap((frames) => {
        renewal = false;
        const renewStream = (): void => {
          renewal = true;
          frames.retire();
        };
        return batches$(parts, session, followState, { ...frames, end, retire: renewStream });
      }),
    );
  const bounded$ = (stopAt: number): Observable<number> =>
    defer(() => {
      // Until the next stream is open, the run waits for the source. It waits neither for the database nor for an idle
      // socket.
      parts.observers.stream.busyWith('source');
      followState.lastFrameAt = () => performance.now();
      return nextEnd(parts, followState.checkpoint, stopAt);
    }).pipe(concatMap((end) => (end === undefined ? EMPTY : stream$(end))));
  return defer(() => {
    if (isOver()) return EMPTY;
    return followState.stopAt === undefined ? stream$(undefined) : bounded$(followState.stopAt);
  }).pipe(
    catchError((thrown: unknown) =>
      throwError(() => withOffsetContext(toIndexerError(thrown), followState.checkpoint)),
    ),
    repeat({ delay: () => (isOver() ? EMPTY : of(true)) }),
  );
}

/** A stream and its end offset, which is undefined if the stream has no end. */
type BoundedFrames = Frames & { readonly end: number | undefined };

/** Emits the checkpoints of one stream. Completes when the stream was stopped or retired, or has reached its end. */
function batches$(
  parts: PipelineParts,
  session: WriterSession,
  followState: FollowState,
  frames: BoundedFrames,
): Observable<number> {
  followState.lastFrameAt = () => frames.lastFrameAt();
  const writer = new StreamWriter(parts, session, followState);
  const watch = new AbortController();
  const retireFrames = async (waitForToken: typeof newerToken): Promise<void> => {
    if (await waitForToken(parts, frames.token, watch.signal)) frames.retire();
  };
  void retireFrames(newerToken);
  followState.renew = () => void retireFrames(hasNewerToken);
  // A stream that the ledger ends does not need an idle probe.
  if (frames.end === undefined)
    void probeWhileIdle(parts, { following: followState, frames, isIdle: () => writer.idle }, watch.signal);
  return defer(() => writer.step(frames)).pipe(
    repeat(),
    takeWhile((checkpoint): checkpoint is number => checkpoint !== undefined),
    finalize(() => {
      watch.abort();
      parts.tracer?.abandon();
      frames.close();
    }),
  );
}

class StreamWriter {
  readonly #parts: PipelineParts;
  readonly #session: WriterSession;
  readonly #following: FollowState;
  readonly #writes: WriteQueue;
  /** End offset of the newest batch that was passed to the database. The next batch begins there. */
  #from: number;
  #seen: number;
  /** Offset of the newest OffsetCheckpoint: all updates up to it have arrived. */
  #complete = 0;
  #pending: UpdateFailure | undefined;
  /** An update that arrived after later ones. */
  #late: StoredUpdate | undefined;
  #building = false;
  #received = false;
  #waiting = false;

  constructor(parts: PipelineParts, session: WriterSession, followState: FollowState) {
    this.#parts = parts;
    this.#session = session;
    this.#following = followState;
    this.#writes = new WriteQueue(parts.limits.writeConcurrency);
    this.#from = followState.checkpoint;
    this.#seen = followState.checkpoint;
  }

  /**
   * Builds one batch while earlier batches are written. Resolves to undefined when the stream was stopped or retired.
   */
  async step(frames: BoundedFrames): Promise<number | undefined> {
    if (this.#pending !== undefined) return this.#giveUp(this.#pending);
    const { limits, observers, tracer } = this.#parts;
    // A small batch is decoded quickly. It is built only when no write is running, so that it includes the updates that
    // arrive until then.
    if (frames.inbox.length < maxAheadUpdates && frames.inbox.bytes < maxAheadBytes) await this.#drain();
    const takenFrames = await this.#taken(frames);
    if (takenFrames.length === 0) return this.#ended(frames);
    this.#received = true;
    observers.stream.queueChanged({
      updates: frames.inbox.length,
      updatesCapacity: limits.bufferUpdates,
      bytes: frames.inbox.bytes,
      bytesCapacity: limits.bufferBytes,
    });
    observers.stream.busyWith('decode');
    const batch = this.#session.newBatch(this.#from);
    const span = tracer?.batch('updates', this.#from);
    const builtBatch = await buildBatch(takenFrames, (frame) => {
      const update = updateOf(this.#parts, frame, batch.unknown);
      refuseUnknownKind(update, this.#parts.unknownUpdates);
      span?.note(update);
      this.#add(batch, update, { frame, end: frames.end });
    });
    // The batch is sealed before waiting for a write slot. If it were sealed after the wait, the database would be idle
    // during the sealing.
    batch.seal();
    span?.decoded(builtBatch.frames, builtBatch.bytes, builtBatch.error);
    const quarantineFrame = this.#kept(takenFrames, builtBatch);
    frames.release(takenFrames);
    const failed = builtBatch.error === undefined ? undefined : { error: builtBatch.error, frame: quarantineFrame };
    // Partly built rows must not be written. They are already in the batch, unlike the rows of a frame that cannot be
    // decoded.
    if (this.#building && failed !== undefined) return this.#giveUp(failed);
    this.#pending = failed;
    await this.#room();
    if (batch.updatesByKind.size > 0) this.#write(batch, builtBatch, quarantineFrame, span);
    else span?.done(batch, builtBatch.error);
    return this.#following.checkpoint;
  }

  /** True if all frames that were taken are committed and no frame is being decoded. */
  get idle(): boolean {
    return this.#waiting && this.#writes.underWay === 0;
  }

  /** Whether the next update is written in a separate transaction while no other write is running. */
  get #alone(): boolean {
    return this.#from < this.#following.apart.upTo;
  }

  async #room(): Promise<void> {
    this.#parts.observers.stream.busyWith('database');
    await this.#writes.room(this.#alone ? 1 : undefined);
  }

  async #drain(): Promise<void> {
    this.#parts.observers.stream.busyWith('database');
    await this.#writes.drain();
  }

  /**
   * Takes the next frames.
   * @throws the error that ended the stream, after everything before it is committed, because only then is the offset
   * of the error certain
   */
  async #taken({ inbox }: Frames): Promise<readonly StoredFrame[]> {
    const stopWatching = watchSlowWrites(this.#writes, this.#parts.observers.stream);
    this.#waiting = true;
    try {
      const { batchUpdates, batchBytes } = this.#parts.limits;
      return await this.#writes.orFailure(inbox.take(this.#alone ? 1 : batchUpdates, batchBytes));
    } catch (thrown) {
      stopWatching();
      await this.#drain();
      throw thrown;
    } finally {
      this.#waiting = false;
      stopWatching();
    }
  }

  /**
   * The frame that may have to be quarantined. It is the frame that could not be decoded, or the only frame of the
   * batch.
   */
  #kept(takenFrames: readonly StoredFrame[], { error, frames }: BatchResult): Buffer | undefined {
    if (!this.#parts.quarantine) return undefined;
    const frame = error !== undefined ? takenFrames[frames] : this.#alone ? takenFrames[0] : undefined;
    return frame === undefined ? undefined : bytesOf(frame);
  }

  /** Stores everything before the failed update, and then reports or quarantines that update. */
  async #giveUp(failed: UpdateFailure): Promise<never> {
    await this.#drain();
    if (this.#late !== undefined) await storeLateUpdate(this.#parts, this.#session, this.#late);
    return quarantineUpdate(this.#parts, this.#session, this.#following.checkpoint, failed);
  }

  async #ended(frames: BoundedFrames): Promise<undefined> {
    await this.#drain();
    const { inbox, end } = frames;
    // A range that may have been truncated is requested again. The end of the stream is accepted only if no update
    // arrived before it.
    const isExpectedEnd = end !== undefined && (inbox.stopped || this.#received || (await this.#reach(end)));
    if (inbox.stopped || isExpectedEnd) {
      // Closes this stream before the next one opens. If this were left to the teardown of the observable, it would
      // happen too late.
      frames.close();
      return undefined;
    }
    throw new IndexerError('the ledger ended the update stream', {
      code: 'LEDGER_STREAM_CLOSED',
      remedy: 'none needed when the participant restarted; the stream is opened again at the checkpoint',
    });
  }

  /**
   * Sets the checkpoint to the end of the stream, unless the ledger has more updates up to that offset. The updates at
   * the last offsets may not be visible to this user.
   */
  async #reach(offset: number): Promise<boolean> {
    if (!(await isRangeEmpty(this.#parts, this.#from, offset))) return false;
    if (this.#from >= offset) return true;
    const batch = this.#session.newBatch(this.#from);
    batch.add({ kind: 'offset_checkpoint', offset, synchronizerTimes: [] });
    batch.seal();
    this.#write(batch, { frames: 0, bytes: 0, seconds: 0, error: undefined }, undefined);
    await this.#drain();
    return true;
  }

  #add(batch: Batch, update: Update, { frame, end }: { readonly frame: Utf8; readonly end: number | undefined }): void {
    const { offset } = update;
    const order = orderOfOffset(offset, { seen: this.#seen, complete: this.#complete, end });
    if (order === 'past the end') throw pastEndError(offset, end ?? offset);
    if (update.kind === 'offset_checkpoint') {
      this.#complete = Math.max(this.#complete, offset);
      if (offset >= this.#from) batch.add(update);
      return;
    }
    if (order === 'repeated') return;
    if (order === 'late') {
      // If the ledger never sent the expected update, the update that it sent instead must not move the checkpoint past
      // the expected update.
      this.#building = true;
      const copy = updateOf(this.#parts, frame.toString());
      if (copy.kind !== 'offset_checkpoint') this.#late = copy;
      throw outOfOrderError(offset, Math.max(this.#seen, this.#complete));
    }
    this.#seen = offset;
    this.#building = true;
    try {
      batch.add(update);
    } catch (thrown) {
      throw this.#notBuilt(toIndexerError(thrown), offset);
    }
    this.#building = false;
  }

  /**
   * Adds the offset only if the update was written in a separate transaction. Otherwise the range up to the update is
   * processed again, one update at a time, so that the other updates of the batch are stored first.
   */
  #notBuilt(error: IndexerError, offset: number): IndexerError {
    return this.#alone ? atOffset(error, offset) : withRange(error, { from: this.#from, upTo: offset });
  }

  #write(batch: Batch, builtBatch: BatchResult, frame: Buffer | undefined, span?: BatchSpan): void {
    const from = this.#from;
    const rangeToIsolate = this.#alone;
    this.#from = batch.offset;
    span?.writing(this.#writes.underWay);
    this.#writes.add(async (predecessor) => {
      const started = performance.now();
      const rows = await this.#session.writeBatch(batch, from, predecessor).catch(async (thrown: unknown) => {
        const error = toIndexerError(thrown);
        span?.done(batch, error);
        const range = { from, upTo: batch.offset };
        if (!rangeToIsolate) throw withRange(error, range);
        const explainedError = withRange(await this.#session.explained(error, batch.offset), range);
        return quarantineUpdate(this.#parts, this.#session, from, {
          error: atOffset(explainedError, batch.offset),
          frame,
        });
      });
      const seconds = (performance.now() - started) / 1000;
      span?.done(batch);
      this.#following.checkpoint = batch.offset;
      this.#parts.observers.stream.batchCommitted(batchFactsOf(batch, rows, builtBatch, seconds));
      this.#parts.commits.reached(batch.offset);
      this.#following.onCommitted(batch.offset);
    });
  }
}
