/**
 * The main loop of the pipeline reads frames and commits batches. The ledger and the sink are in memory. The tests
 * check the writes, their order, and when the loop ends.
 */
import { lastValueFrom, toArray } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { IndexerError } from '../../src/errors/indexer-error.ts';
import { follow$, type FollowState } from '../../src/pipeline/follow/follow.ts';
import type { PipelineLimits } from '../../src/pipeline/ports/parts.ts';
import { emptyRange } from '../../src/pipeline/retry/isolate-failing-update.ts';
import { deferred } from '../support/deferred.ts';
import { pause, waitFor } from '../support/wait-for.ts';
import { checkpointFrame as checkpoint, topologyFrame as topology, type MemoryStream } from './memory-ledger.ts';
import { memoryWorld, type Reports } from './memory-parts.ts';
import type { MemorySink } from './memory-sink.ts';

interface Run {
  readonly sink: MemorySink;
  readonly reports: Reports;
  readonly following: FollowState;
  /** Ends the stream. Without a reason, the stream ends as if the participant shut down. */
  readonly end: (reason?: IndexerError) => void;
  readonly send: (...frames: readonly string[]) => void;
  readonly stop: () => void;
  /** Committed checkpoints. Rejects with the error that stopped the loop. */
  readonly done: Promise<readonly number[]>;
}

function run(limits: Partial<PipelineLimits> = {}, quarantine = false): Run {
  const { parts: pipeline, sink, reports, ledger, stop } = memoryWorld({ limits, quarantine });
  const whenOpened = deferred<MemoryStream>();
  ledger.script = whenOpened.resolve;
  const followState: FollowState = {
    checkpoint: 0,
    lastFrameAt: () => 0,
    renew: () => undefined,
    apart: emptyRange,
    stopAt: undefined,
    onCommitted: () => undefined,
  };
  const whenDone = lastValueFrom(follow$(pipeline, sink.takeOver(), followState).pipe(toArray()));
  whenDone.catch(() => undefined);
  return {
    sink,
    reports,
    following: followState,
    done: whenDone,
    send: (...frames) => void whenOpened.promise.then((stream) => stream.send(...frames)),
    end: (reason) => void whenOpened.promise.then((stream) => stream.end(reason)),
    stop: () => stop.abort(),
  };
}

/** Waits until the checkpoint is reached or the loop has ended. */
async function waitForOffset({ following: followState, done: whenDone }: Run, offset: number): Promise<void> {
  let isEnded = false;
  const markDone = (): void => {
    isEnded = true;
  };
  whenDone.then(markDone, markDone);
  await waitFor(
    `checkpoint ${String(offset)}`,
    () => (isEnded || followState.checkpoint >= offset ? true : undefined),
    5_000,
  );
}

describe('main loop', () => {
  it('writes every update once and in order', async () => {
    const loop = run();
    loop.send(...[1, 2, 3, 4, 5].map((offset) => topology(offset * 10)));
    await waitForOffset(loop, 50);
    loop.stop();
    await loop.done;
    const { commits } = loop.sink;
    expect(commits.map(({ to }) => to).at(-1)).toBe(50);
    expect(commits.reduce((sum, { updates }) => sum + (updates['topology'] ?? 0), 0)).toBe(5);
    commits.forEach(({ from }, index) => expect(from).toBe(commits[index - 1]?.to ?? 0));
  });

  it('stores a repeated update once', async () => {
    const loop = run({ batchUpdates: 10 });
    loop.send(topology(10), topology(10), checkpoint(15), topology(20));
    await waitForOffset(loop, 20);
    loop.stop();
    await loop.done;
    const kinds = loop.sink.commits.map(({ updates }) => updates['topology'] ?? 0);
    expect(kinds.reduce((sum, count) => sum + count, 0)).toBe(2);
  });

  it.each([
    ['an update older than the newest', [topology(10), topology(20), topology(15)], 20],
    ['an update within a range that was reported complete', [topology(10), checkpoint(20), topology(20)], 20],
  ])('stops at %s after it has written all earlier updates', async (_, frames, last) => {
    const loop = run({ batchUpdates: 1 });
    loop.send(...frames);
    await expect(loop.done).rejects.toMatchObject({ code: 'LEDGER_OUT_OF_ORDER' });
    expect(loop.following.checkpoint).toBe(last);
    // This update may not have been received before.
    expect(loop.sink.late).toHaveLength(1);
  });

  it('stops at an unreadable frame after it has written all earlier updates', async () => {
    const loop = run({ batchUpdates: 10 });
    loop.send(topology(10), '{"update":{"TopologyTransaction":{"value":{"offset":"x"}}}}', topology(30));
    await expect(loop.done).rejects.toMatchObject({ code: 'UPDATE_UNDECODABLE' });
    expect(loop.following.checkpoint).toBe(10);
  });

  it('commits nothing after a failed write, and rolls back concurrent writes', async () => {
    const loop = run({ batchUpdates: 1, writeConcurrency: 3 });
    const connectionError = new IndexerError('the connection is gone', { code: 'STORE_UNREACHABLE' });
    const failing = deferred();
    loop.sink.before = (_, commit) => (commit === 2 ? failing.promise : undefined);
    loop.send(topology(10), topology(20), topology(30));
    await waitForOffset(loop, 10);
    failing.reject(connectionError);
    await expect(loop.done).rejects.toMatchObject({ code: 'STORE_UNREACHABLE' });
    expect(loop.sink.commits.map(({ to }) => to)).toEqual([10]);
  });

  it.each([
    ['many', { writeConcurrency: 1, count: 300, idLength: 20, ahead: true }],
    ['large', { writeConcurrency: 1, count: 4, idLength: 200_000, ahead: true }],
    ['few', { writeConcurrency: 2, count: 100, idLength: 20, ahead: false }],
  ])('builds the next batch during a write only if enough updates wait: %s', async (_, waitingUpdates) => {
    const { writeConcurrency, count, idLength, ahead: updatesAhead } = waitingUpdates;
    const loop = run({ batchUpdates: 40, batchBytes: 300_000, bufferUpdates: 1_000, writeConcurrency });
    const slowWrite = deferred();
    loop.sink.before = (sinkCall) => (sinkCall === 'writeBatch' ? slowWrite.promise : undefined);
    const countBuilt = (): number => loop.reports.of('stream.busyWith').filter(([work]) => work === 'decode').length;
    const offsets = Array.from({ length: count }, (_, index) => index + 1);
    loop.send(...offsets.map((offset) => topology(offset, String(offset).padStart(idLength, '0'))));
    await waitFor('the write', () => (loop.sink.count('writeBatch') === 1 ? true : undefined));
    if (updatesAhead) await waitFor('the next batch', () => (countBuilt() === 2 ? true : undefined));
    else await pause(50);
    expect([countBuilt(), loop.following.checkpoint]).toEqual([updatesAhead ? 2 : 1, 0]);
    slowWrite.resolve();
    await waitForOffset(loop, count);
    loop.stop();
    await loop.done;
  });

  it('writes all received updates before it ends with the stream', async () => {
    const loop = run();
    loop.send(topology(10), topology(20), topology(30));
    loop.end();
    await expect(loop.done).rejects.toMatchObject({ code: 'LEDGER_STREAM_CLOSED' });
    expect(loop.following.checkpoint).toBe(30);
  });

  it('completes the current write when it is stopped', async () => {
    const loop = run({ batchUpdates: 1 });
    const slowWrite = deferred();
    loop.sink.before = () => slowWrite.promise;
    loop.send(topology(10));
    await waitFor('the write', () => (loop.sink.commits.length === 0 ? true : undefined));
    loop.stop();
    slowWrite.resolve();
    await loop.done;
    expect(loop.following.checkpoint).toBe(loop.sink.commits.at(-1)?.to ?? 0);
  });
});
