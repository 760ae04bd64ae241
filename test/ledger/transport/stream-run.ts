/** Opens one stream and records its frames and its end, so that tests can wait for them. */
import type { IndexerError } from '../../../src/errors/indexer-error.ts';
import {
  openFrameStream,
  type FrameStream,
  type FrameStreamOptions,
} from '../../../src/ledger/transport/frame-stream.ts';
import { deferred } from '../../support/deferred.ts';

export interface StreamRun {
  readonly frames: string[];
  readonly ends: (IndexerError | undefined)[];
  readonly ended: Promise<IndexerError | undefined>;
  readonly opened: Promise<void>;
  readonly stream: FrameStream;
}

export function openRun(url: string, options: Partial<FrameStreamOptions> = {}): StreamRun {
  const frames: string[] = [];
  const streamEnds: (IndexerError | undefined)[] = [];
  const whenEnded = deferred<IndexerError | undefined>();
  const whenOpened = deferred();
  const stream = openFrameStream({
    url,
    path: '/v2/updates',
    request: { beginExclusive: 7 },
    token: undefined,
    pingIntervalMs: 60_000,
    onFrame: (frame) => frames.push(frame.toString()),
    onEnd: (error) => {
      streamEnds.push(error);
      whenEnded.resolve(error);
    },
    onOpen: () => {
      whenOpened.resolve();
    },
    ...options,
  });
  return { frames, ends: streamEnds, ended: whenEnded.promise, opened: whenOpened.promise, stream };
}
