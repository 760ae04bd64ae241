/** The order and the failures of concurrent writes. */
import { describe, expect, it } from 'vitest';
import { WriteQueue } from '../../src/pipeline/follow/write-queue.ts';
import { deferred } from '../support/deferred.ts';

/** Whether the promise is settled after all pending callbacks. */
async function settled(promise: Promise<unknown>): Promise<boolean> {
  let done = false;
  const note = (): void => {
    done = true;
  };
  promise.then(note, note);
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
  return done;
}

describe('write queue', () => {
  it('accepts one write per connection, and another one when a write has ended', async () => {
    const queue = new WriteQueue(2);
    const [first, second] = [deferred(), deferred()];
    queue.add(() => first.promise);
    expect(await settled(queue.room())).toBe(true);
    queue.add(() => second.promise);
    const room = queue.room();
    expect(await settled(room)).toBe(false);
    first.resolve();
    expect(await settled(room)).toBe(true);
  });

  it('passes the previous write to the next write only while the previous one is pending', async () => {
    const queue = new WriteQueue(3);
    const first = deferred();
    const seen: (Promise<void> | undefined)[] = [];
    const watched = (end: Promise<void>) => (predecessor: Promise<void> | undefined) => {
      seen.push(predecessor);
      return end;
    };
    queue.add(watched(first.promise));
    queue.add(watched(first.promise));
    expect(seen[0]).toBeUndefined();
    expect(seen[1]).toBeInstanceOf(Promise);
    first.resolve();
    await queue.drain();
    queue.add(watched(Promise.resolve()));
    expect(seen[2]).toBeUndefined();
  });

  it('drains when all writes have ended', async () => {
    const queue = new WriteQueue(2);
    const [first, second] = [deferred(), deferred()];
    queue.add(() => first.promise);
    queue.add(() => second.promise);
    const drained = queue.drain();
    second.resolve();
    expect(await settled(drained)).toBe(false);
    first.resolve();
    expect(await settled(drained)).toBe(true);
  });

  it('rejects every waiting caller with the first failure', async () => {
    const queue = new WriteQueue(1);
    const write = deferred();
    queue.add(() => write.promise);
    const never = new Promise<void>(() => undefined);
    const waiting = [queue.room(), queue.drain(), queue.orFailure(never)];
    write.reject(new Error('gone'));
    for (const one of await Promise.allSettled(waiting)) expect(one).toMatchObject({ reason: { message: 'gone' } });
    await expect(queue.room()).rejects.toThrow('gone');
  });

  it('keeps a failure for the next caller', async () => {
    const queue = new WriteQueue(2);
    queue.add(() => Promise.reject(new Error('gone')));
    await settled(Promise.resolve());
    await expect(queue.drain()).rejects.toThrow('gone');
  });
});
