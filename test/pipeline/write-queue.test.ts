/** The order and the failures of concurrent writes. */
import { describe, expect, it } from 'vitest';
import { WriteQueue } from '../../src/pipeline/follow/write-queue.ts';
import { deferred } from '../support/deferred.ts';

/** Whether the promise is settled after all pending callbacks. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let isDone = false;
  const markDone = (): void => {
    isDone = true;
  };
  promise.then(markDone, markDone);
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
  return isDone;
}

describe('write queue', () => {
  it('accepts one write per connection, and another one when a write has ended', async () => {
    const queue = new WriteQueue(2);
    const [first, second] = [deferred(), deferred()];
    queue.add(() => first.promise);
    expect(await isSettled(queue.room())).toBe(true);
    queue.add(() => second.promise);
    const whenRoom = queue.room();
    expect(await isSettled(whenRoom)).toBe(false);
    first.resolve();
    expect(await isSettled(whenRoom)).toBe(true);
  });

  it('passes the previous write to the next write only while the previous one is pending', async () => {
    const queue = new WriteQueue(3);
    const first = deferred();
    const seenPredecessors: (Promise<void> | undefined)[] = [];
    const watched = (end: Promise<void>) => (previousWrite: Promise<void> | undefined) => {
      seenPredecessors.push(previousWrite);
      return end;
    };
    queue.add(watched(first.promise));
    queue.add(watched(first.promise));
    expect(seenPredecessors[0]).toBeUndefined();
    expect(seenPredecessors[1]).toBeInstanceOf(Promise);
    first.resolve();
    await queue.drain();
    queue.add(watched(Promise.resolve()));
    expect(seenPredecessors[2]).toBeUndefined();
  });

  it('drains when all writes have ended', async () => {
    const queue = new WriteQueue(2);
    const [first, second] = [deferred(), deferred()];
    queue.add(() => first.promise);
    queue.add(() => second.promise);
    const whenDrained = queue.drain();
    second.resolve();
    expect(await isSettled(whenDrained)).toBe(false);
    first.resolve();
    expect(await isSettled(whenDrained)).toBe(true);
  });

  it('rejects every waiting caller with the first failure', async () => {
    const queue = new WriteQueue(1);
    const write = deferred();
    queue.add(() => write.promise);
    const neverResolves = new Promise<void>(() => undefined);
    const queueWaits = [queue.room(), queue.drain(), queue.orFailure(neverResolves)];
    write.reject(new Error('gone'));
    for (const outcome of await Promise.allSettled(queueWaits))
      expect(outcome).toMatchObject({ reason: { message: 'gone' } });
    await expect(queue.room()).rejects.toThrow('gone');
  });

  it('keeps a failure for the next caller', async () => {
    const queue = new WriteQueue(2);
    queue.add(() => Promise.reject(new Error('gone')));
    await isSettled(Promise.resolve());
    await expect(queue.drain()).rejects.toThrow('gone');
  });
});
