/** One stream of the ledger feeding one inbox: socket events in, bounded pulls out. */
import type { IndexerError } from '../errors.ts';
import type { FrameStream, StreamPath } from '../ledger/frame-stream.ts';
import { Inbox } from './inbox.ts';
import type { PipelineParts } from './parts.ts';

export interface Frames {
  readonly inbox: Inbox;
  /** Monotonic time of the newest frame, milliseconds. */
  lastFrameAt(): number;
  close(): void;
}

/** The close code as text where there was one, else the error's code. */
function closeCodeOf(error: IndexerError | undefined): string {
  if (error === undefined) return '1000';
  if (error.facts['closedBy'] === 'us') return 'stopped';
  return String(error.facts['closeCode'] ?? error.code);
}

/** Opens the stream and attaches everything before the first byte can arrive. */
export async function openFrames(parts: PipelineParts, path: StreamPath, request: object): Promise<Frames> {
  const { observer, limits, stop } = parts;
  const name = path === '/v2/updates' ? 'updates' : 'active_contracts';
  let stream: FrameStream | undefined;
  let lastFrameAt = performance.now();
  const inbox = new Inbox(
    { frames: limits.inboxUpdates, bytes: limits.inboxBytes },
    {
      pause: () => stream?.pause(),
      resume: () => stream?.resume(),
      paused: (seconds) => {
        observer.backpressure(seconds);
      },
    },
  );
  const stopInbox = (): void => {
    inbox.stop();
  };
  stream = await parts.openStream({
    path,
    request,
    onOpen: () => {
      observer.connected(name);
    },
    onFrame: (text, bytes) => {
      lastFrameAt = performance.now();
      observer.frameReceived(bytes);
      inbox.push(text, bytes);
    },
    onEnd: (error) => {
      observer.disconnected(name, closeCodeOf(error));
      inbox.end(error);
    },
  });
  if (stop.aborted) stopInbox();
  stop.addEventListener('abort', stopInbox);
  return {
    inbox,
    // While frames wait here, the silence is ours: a paused socket delivers nothing.
    lastFrameAt: () => {
      if (inbox.length > 0) lastFrameAt = performance.now();
      return lastFrameAt;
    },
    close: () => {
      stop.removeEventListener('abort', stopInbox);
      stream.close();
    },
  };
}
