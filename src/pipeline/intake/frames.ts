/**
 * One stream of the ledger that feeds one inbox. Frames arrive from the socket, and the writer takes a limited number
 * at a time.
 */
import { Observable } from 'rxjs';
import type { IndexerError } from '../../errors/indexer-error.ts';
import type { FrameStream, StreamPath } from '../../ledger/transport/frame-stream.ts';
import type { AccessToken } from '../../ledger/access/token.ts';
import { Inbox } from './inbox.ts';
import type { PipelineParts } from '../ports/parts.ts';
import { FrameMemory, type StoredFrame } from './frame-memory.ts';

export interface Frames {
  readonly inbox: Inbox<StoredFrame>;
  /** Releases frames that were taken from the inbox and have been decoded. */
  release(frames: readonly StoredFrame[]): void;
  /** The token that the stream was opened with. */
  readonly token: AccessToken | undefined;
  /** Monotonic time of the newest frame, milliseconds. */
  lastFrameAt(): number;
  /**
   * After this call, no more frames are returned, because another stream will resume from the checkpoint. That stream
   * receives the queued frames again.
   */
  retire(): void;
  /** Appends an OffsetCheckpoint with this offset to the received frames. */
  pass(offset: number): void;
  close(): void;
}

/** The close code as text. If there was no close code, the code of the error. */
function closeCodeOf(error: IndexerError | undefined): string {
  if (error === undefined) return '1000';
  if (error.facts['closedBy'] === 'us') return 'stopped';
  return String(error.facts['closeCode'] ?? error.code);
}

/**
 * Emits one stream when it is open. If the stream is no longer needed by then, it is closed again. This can happen
 * because obtaining a token takes time.
 * @param renewal true if the stream continues a retired stream with a newer token
 */
export function frames$(parts: PipelineParts, path: StreamPath, request: object, renewal = false): Observable<Frames> {
  return new Observable((subscriber) => {
    const openAgain = async (): Promise<void> => {
      try {
        const frames = await openFrames(parts, path, request, renewal);
        if (subscriber.closed) frames.close();
        subscriber.next(frames);
        subscriber.complete();
      } catch (thrown) {
        subscriber.error(thrown);
      }
    };
    void openAgain();
  });
}

/** Attaches all listeners before the first byte can arrive. */
async function openFrames(parts: PipelineParts, path: StreamPath, request: object, renewal: boolean): Promise<Frames> {
  const { observers, stop } = parts;
  const token = await parts.tokenSource.lease();
  observers.stream.tokenTaken(token?.expiresAt, renewal);
  const { inbox, blocks, stream, ends: streamEnds, lastFrameAt } = openFeed(parts, path, request, token?.token);
  const stopInbox = (): void => {
    inbox.stop();
  };
  let retired = false;
  if (stop.aborted) stopInbox();
  stop.addEventListener('abort', stopInbox);
  return {
    inbox,
    release: (frames) => {
      blocks.release(frames);
    },
    token,
    lastFrameAt,
    pass: (skippedOffset) => {
      // This must be an offset of the participant, because the frame is read like any other frame.
      const offset = parts.participantOffsets?.toParticipantOffset(skippedOffset) ?? skippedOffset;
      const frame = Buffer.from(JSON.stringify({ update: { OffsetCheckpoint: { value: { offset } } } }));
      inbox.push(blocks.keep(frame), frame.length);
    },
    retire: () => {
      retired = true;
      stopInbox();
    },
    close: () => {
      stop.removeEventListener('abort', stopInbox);
      // The end is reported now, because an idle ledger confirms the close only after the next stream is open.
      if (retired) streamEnds.ended('renewed');
      stream.close();
    },
  };
}

/** Opens the stream with its inbox. */
function openFeed(parts: PipelineParts, path: StreamPath, request: object, token: string | undefined) {
  const endReporter = createEndReporter(parts, path);
  let newestFrameAt = performance.now();
  let stream: FrameStream | undefined;
  const inbox = createInbox(parts, () => stream);
  const blocks = new FrameMemory();
  stream = parts.openStream({
    path,
    request,
    token,
    onOpen: endReporter.opened,
    onFrame: (frame) => {
      newestFrameAt = performance.now();
      parts.observers.stream.frameReceived(frame.length);
      inbox.push(blocks.keep(frame), frame.length);
    },
    onEnd: (error) => {
      endReporter.ended(closeCodeOf(error));
      inbox.end(error);
    },
  });
  // While frames wait here, a silent socket is caused by this process, because a paused socket delivers no frames.
  const lastFrameAt = (): number => {
    if (inbox.length > 0) newestFrameAt = performance.now();
    return newestFrameAt;
  };
  return { inbox, blocks, stream, ends: endReporter, lastFrameAt };
}

/** Reports the beginning and the end of a stream to the observer, each at most once. */
function createEndReporter({ observers }: PipelineParts, path: StreamPath) {
  const name = path === '/v2/updates' ? 'updates' : 'active_contracts';
  let isOver = false;
  return {
    opened: (): void => {
      if (!isOver) observers.stream.connected(name);
    },
    ended: (code: string): void => {
      if (!isOver) observers.stream.disconnected(name, code);
      isOver = true;
    },
  };
}

function createInbox({ limits, observers }: PipelineParts, stream: () => FrameStream | undefined): Inbox<StoredFrame> {
  return new Inbox(
    { frames: limits.bufferUpdates, bytes: limits.bufferBytes },
    {
      pause: () => stream()?.pause(),
      resume: () => stream()?.resume(),
      paused: (seconds) => {
        observers.stream.backpressure(seconds);
      },
    },
  );
}
