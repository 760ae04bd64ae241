/**
 * A stream is silent before it reaches the ledger end. The tests check when the checkpoint moves past the silent range,
 * and when it waits for the stream.
 */
import { describe, expect, it } from 'vitest';
import { FrameMemory } from '../../src/pipeline/intake/frame-memory.ts';
import { Inbox } from '../../src/pipeline/intake/inbox.ts';
import { probeWhileIdle } from '../../src/pipeline/proof/idle-probe.ts';
import type { ProbeAnswer } from '../../src/pipeline/ports/observer.ts';
import { stopClock } from '../support/chance/clock.ts';
import { waitFor } from '../support/wait-for.ts';
import { checkpointFrame, failure, topologyFrame } from './memory-ledger.ts';
import { memoryWorld, type World } from './memory-parts.ts';

/** A stream that has sent all updates up to `following.checkpoint`, and is idle. */
function silent() {
  const world = memoryWorld({ limits: { idleProbeAfterMs: 1 } });
  const over = new AbortController();
  const following = { checkpoint: 20 };
  const passed: number[] = [];
  const heard = { at: 0, idle: true, looks: 0, turns: 0, inbox: openInbox() };
  world.ledger.grow(10, 20);
  world.ledger.end = 25;
  const stream = {
    following,
    frames: {
      inbox: heard.inbox,
      lastFrameAt: () => {
        heard.turns += 1;
        return heard.at;
      },
      pass: (offset: number): void => {
        passed.push(offset);
        following.checkpoint = offset;
      },
    },
    isIdle: () => {
      heard.looks += 1;
      return heard.idle;
    },
  };
  const done = (): Promise<void> => probeWhileIdle(world.parts, stream, over.signal);
  return { world, over, following, passed, heard, done };
}

function openInbox() {
  const valve = { pause: () => undefined, resume: () => undefined, paused: () => undefined };
  return new Inbox<ReturnType<FrameMemory['keep']>>({ frames: 10, bytes: 1_000 }, valve);
}

type Heard = ReturnType<typeof silent>['heard'];

/** Results of the probes so far. */
function answers({ reports }: World): readonly ProbeAnswer[] {
  return reports.of('polls.idleProbed').map(([answer]) => answer);
}

/** Waits for this number of probe results, and returns them. */
async function waitForAnswers(world: World, times: number): Promise<readonly ProbeAnswer[]> {
  await waitFor('an answer', () => (answers(world).length >= times ? true : undefined));
  return answers(world).slice(0, times);
}

describe('idle probe', () => {
  it('passes an idle range once if a stream and a list return nothing in it', async () => {
    const { world, over, passed, done } = silent();
    const running = done();
    expect(await waitForAnswers(world, 1)).toEqual(['empty']);
    // Nothing is requested while the checkpoint equals the ledger end.
    await waitFor('more polls', () => (world.ledger.count('ledgerEnd') > 3 ? true : undefined));
    over.abort();
    await running;
    expect(passed).toEqual([25]);
    expect(
      world.ledger.streams.map(({ request: { beginExclusive, endInclusive } }) => [beginExclusive, endInclusive]),
    ).toEqual([[20, 25]]);
    expect(world.ledger.streams.every(({ closed }) => closed)).toBe(true);
  });

  it('passes an idle range that contains only offset checkpoints', async () => {
    const { world, over, passed, done } = silent();
    world.ledger.script = (stream) => {
      stream.send(checkpointFrame(22));
      stream.end();
    };
    const running = done();
    expect(await waitForAnswers(world, 1)).toEqual(['empty']);
    over.abort();
    await running;
    expect(passed[0]).toBe(25);
  });

  it.each([
    [
      'a probe stream returns an update',
      (world: World): unknown => (world.ledger.script = (stream) => stream.send(topologyFrame(23))),
    ],
    // A gateway that drops its sockets closes the stream cleanly, before the first frame.
    ['a list returns an update, although the probe stream ended cleanly', ownList],
  ])('leaves the range to the stream when %s', async (_, arrange) => {
    const { world, over, passed, done } = silent();
    arrange(world);
    const running = done();
    expect(await waitForAnswers(world, 2)).toEqual(['undelivered', 'undelivered']);
    over.abort();
    await running;
    expect(passed).toEqual([]);
  });

  it.each([
    ['a frame arrives', (heard: Heard): unknown => (heard.at += 1)],
    ['a batch is being written', (heard: Heard): unknown => (heard.idle = false)],
    [
      'frames wait in the buffer',
      (heard: Heard): unknown => heard.inbox.push(new FrameMemory().keep(Buffer.from('{}')), 2),
    ],
  ])('does not pass the range if %s meanwhile', async (_, change) => {
    const { world, over, passed, heard, done } = silent();
    world.ledger.before = (question) => {
      if (question === 'list') change(heard);
    };
    const running = done();
    expect(await waitForAnswers(world, 1)).toEqual(['obsolete']);
    over.abort();
    await running;
    expect(passed).toEqual([]);
  });

  it.each([
    [
      'the stream',
      (world: World): unknown => (world.ledger.script = (stream) => stream.end(failure('LEDGER_UNAVAILABLE'))),
    ],
    ['the list', (world: World): unknown => (world.ledger.before = (question) => refuse(question === 'list'))],
  ])('retries if %s fails, and does not pass the range', async (_, arrange) => {
    const { world, over, passed, done } = silent();
    arrange(world);
    const running = done();
    expect(await waitForAnswers(world, 2)).toEqual(['refused', 'refused']);
    expect(world.reports.of('polls.idleProbed')[0]?.[1]?.code).toBe('LEDGER_UNAVAILABLE');
    over.abort();
    await running;
    expect(passed).toEqual([]);
  });

  it('runs at most once per interval, and waits for a Retry-After of the ledger', async () => {
    const clock = stopClock();
    const { world, over, heard, done } = silent();
    const busy = (): never => {
      throw failure('LEDGER_UNAVAILABLE', { retryAfterSeconds: 8 });
    };
    let isBusy = false;
    world.ledger.before = (question) => (question === 'ledgerEnd' && isBusy ? busy() : undefined);
    /** Number of requests for the ledger end after many turns at the current time of the clock. */
    const requests = async (): Promise<number> => {
      const turns = heard.turns + 30;
      await waitFor('many turns', () => (heard.turns >= turns ? true : undefined));
      return world.ledger.count('ledgerEnd');
    };
    const running = done();
    expect(await requests()).toBe(1);
    clock.advance(0.9);
    expect(await requests()).toBe(1);
    isBusy = true;
    clock.advance(0.1);
    expect(await requests()).toBe(2);
    clock.advance(7_999);
    expect(await requests()).toBe(2);
    clock.advance(1);
    expect(await requests()).toBe(3);
    over.abort();
    await running;
  });

  it('sends no request while updates wait to be written', async () => {
    const { world, over, passed, heard, done } = silent();
    heard.idle = false;
    const running = done();
    await waitFor('looks', () => (heard.looks > 1 ? true : undefined));
    over.abort();
    await running;
    expect(world.ledger.count('ledgerEnd')).toBe(0);
    expect(passed).toEqual([]);
  });
});

function refuse(when: boolean): void {
  if (when) throw failure('LEDGER_UNAVAILABLE');
}

function ownList(world: World): void {
  world.ledger.history.set(23, topologyFrame(23));
  world.ledger.script = (stream) => stream.end();
}
