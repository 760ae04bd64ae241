/** Tests the bounded buffer between socket and writer: its order, bounds, backpressure and end. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { IndexerError } from '../../src/errors/indexer-error.ts';
import { Inbox } from '../../src/pipeline/intake/inbox.ts';
import { expectProperty } from '../support/chance/property.ts';

function inboxOf(frames: number, bytes = 1_000): { inbox: Inbox<string>; calls: string[] } {
  const calls: string[] = [];
  const flowControl = {
    pause: () => calls.push('pause'),
    resume: () => calls.push('resume'),
    paused: (seconds: number) => calls.push(seconds >= 0 ? 'paused' : 'negative'),
  };
  return { inbox: new Inbox<string>({ frames, bytes }, flowControl), calls };
}

describe('inbox', () => {
  it('returns frames in order, at least one, up to the requested number and size', async () => {
    const { inbox } = inboxOf(10);
    for (const [text, bytes] of [
      ['a', 5],
      ['b', 5],
      ['c', 50],
      ['d', 1],
    ] as const)
      inbox.push(text, bytes);
    expect(await inbox.take(1, 100)).toEqual(['a']);
    expect(await inbox.take(10, 20)).toEqual(['b']);
    expect(await inbox.take(10, 20)).toEqual(['c']);
    expect(await inbox.take(10, 20)).toEqual(['d']);
    expect([inbox.length, inbox.bytes]).toEqual([0, 0]);
  });

  it('waits for the first frame when it is empty', async () => {
    const { inbox } = inboxOf(10);
    const takenFrames = inbox.take(10, 10);
    inbox.push('a', 1);
    expect(await takenFrames).toEqual(['a']);
  });

  it('pauses the socket once when full, and resumes it when half is free', async () => {
    const { inbox, calls } = inboxOf(4, 1_000);
    for (const text of 'abcdef') inbox.push(text, 1);
    expect(calls).toEqual(['pause']);
    await inbox.take(3, 100);
    expect(calls).toEqual(['pause']);
    await inbox.take(1, 100);
    expect(calls).toEqual(['pause', 'paused', 'resume']);
    inbox.push('large', 1_000);
    expect(calls).toHaveLength(4);
  });

  it('returns all received frames before it reports the end or the error of the stream', async () => {
    const failedInbox = inboxOf(10).inbox;
    failedInbox.push('a', 1);
    failedInbox.end(new IndexerError('cut', { code: 'LEDGER_STREAM_CLOSED', retry: 'retry' }));
    failedInbox.end(undefined);
    expect(await failedInbox.take(10, 10)).toEqual(['a']);
    await expect(failedInbox.take(10, 10)).rejects.toMatchObject({ code: 'LEDGER_STREAM_CLOSED' });
    const endedInbox = inboxOf(10).inbox;
    const takenFrames = endedInbox.take(10, 10);
    endedInbox.end(undefined);
    expect(await takenFrames).toEqual([]);
  });

  it('returns no frames and drops the queue when it is stopped', async () => {
    const { inbox } = inboxOf(10);
    const takenFrames = inbox.take(10, 10);
    inbox.stop();
    expect(await takenFrames).toEqual([]);
    inbox.push('late', 1);
    expect([inbox.stopped, inbox.length, inbox.bytes]).toEqual([true, 0, 0]);
  });

  it('never loses, repeats or reorders a frame, and is never paused when empty', async () => {
    const step = fc.oneof(
      fc.record({ push: fc.nat(40) }),
      fc.record({ frames: fc.integer({ min: 1, max: 5 }), bytes: fc.integer({ min: 1, max: 60 }) }),
    );
    await expectProperty(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const { inbox, calls } = inboxOf(5, 100);
        const takenFrames: string[] = [];
        let pushedCount = 0;
        for (const nextStep of steps) {
          if ('push' in nextStep) inbox.push(String(pushedCount++), nextStep.push);
          else if (inbox.length > 0) takenFrames.push(...(await inbox.take(nextStep.frames, nextStep.bytes)));
        }
        while (inbox.length > 0) takenFrames.push(...(await inbox.take(3, 1_000)));
        expect(takenFrames).toEqual(Array.from({ length: pushedCount }, (_, index) => String(index)));
        expect(inbox.bytes).toBe(0);
        expect(calls.filter((call) => call === 'pause')).toHaveLength(calls.filter((call) => call === 'resume').length);
      }),
    );
  });
});
