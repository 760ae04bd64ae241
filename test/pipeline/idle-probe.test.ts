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
function silentWorld() {
  const world = memoryWorld({ limits: { idleProbeAfterMs: 1 } });
  const abortController = new AbortController();
  const followState = { checkpoint: 20 };
  const passedOffsets: number[] = [];
  const probeState = { at: 0, idle: true, looks: 0, turns: 0, inbox: openInbox() };
  world.ledger.grow(10, 20);
  world.ledger.end = 25;
  const stream = {
    following: followState,
    frames: {
      inbox: probeState.inbox,
      lastFrameAt: () => {
        probeState.turns += 1;
        return probeState.at;
      },
      pass: (offset: number): void => {
        passedOffsets.push(offset);
        followState.checkpoint = offset;
      },
    },
    isIdle: () => {
      probeState.looks += 1;
      return probeState.idle;
    },
  };
  const probe = (): Promise<void> => probeWhileIdle(world.parts, stream, abortController.signal);
  return {
    world,
    over: abortController,
    following: followState,
    passed: passedOffsets,
    heard: probeState,
    done: probe,
  };
}

function openInbox() {
  const flowControl = { pause: () => undefined, resume: () => undefined, paused: () => undefined };
  return new Inbox<ReturnType<FrameMemory['keep']>>({ frames: 10, bytes: 1_000 }, flowControl);
}

type ProbeReports = ReturnType<typeof silentWorld>['heard'];

/** Results of the probes so far. */
function probeAnswers({ reports }: World): readonly ProbeAnswer[] {
  return reports.of('polls.idleProbed').map(([probeAnswer]) => probeAnswer);
}

/** Waits for this number of probe results, and returns them. */
async function waitForAnswers(world: World, times: number): Promise<readonly ProbeAnswer[]> {
  await waitFor('an answer', () => (probeAnswers(world).length >= times ? true : undefined));
  return probeAnswers(world).slice(0, times);
}

describe('idle probe', () => {
  it('passes an idle range once if a stream and a list return nothing in it', async () => {
    const { world, over: abortController, passed: passedOffsets, done: whenDone } = silentWorld();
    const whenProbed = whenDone();
    expect(await waitForAnswers(world, 1)).toEqual(['empty']);
    // Nothing is requested while the checkpoint equals the ledger end.
    await waitFor('more polls', () => (world.ledger.count('ledgerEnd') > 3 ? true : undefined));
    abortController.abort();
    await whenProbed;
    expect(passedOffsets).toEqual([25]);
    expect(
      world.ledger.streams.map(({ request: { beginExclusive, endInclusive } }) => [beginExclusive, endInclusive]),
    ).toEqual([[20, 25]]);
    expect(world.ledger.streams.every(({ closed: isClosed }) => isClosed)).toBe(true);
  });

  it('passes an idle range that contains only offset checkpoints', async () => {
    const { world, over: abortController, passed: passedOffsets, done: whenDone } = silentWorld();
    world.ledger.script = (stream) => {
      stream.send(checkpointFrame(22));
      stream.end();
    };
    const whenProbed = whenDone();
    expect(await waitForAnswers(world, 1)).toEqual(['empty']);
    abortController.abort();
    await whenProbed;
    expect(passedOffsets[0]).toBe(25);
  });

  it.each([
    [
      'a probe stream returns an update',
      (world: World): unknown => (world.ledger.script = (stream) => stream.send(topologyFrame(23))),
    ],
    // A gateway that drops its sockets closes the stream cleanly, before the first frame.
    ['a list returns an update, although the probe stream ended cleanly', setOwnUpdates],
  ])('leaves the range to the stream when %s', async (_, prepareWorld) => {
    const { world, over: abortController, passed: passedOffsets, done: whenDone } = silentWorld();
    prepareWorld(world);
    const whenProbed = whenDone();
    expect(await waitForAnswers(world, 2)).toEqual(['undelivered', 'undelivered']);
    abortController.abort();
    await whenProbed;
    expect(passedOffsets).toEqual([]);
  });

  it.each([
    ['a frame arrives', (probeState: ProbeReports): unknown => (probeState.at += 1)],
    ['a batch is being written', (probeState: ProbeReports): unknown => (probeState.idle = false)],
    [
      'frames wait in the buffer',
      (probeState: ProbeReports): unknown => probeState.inbox.push(new FrameMemory().keep(Buffer.from('{}')), 2),
    ],
  ])('does not pass the range if %s meanwhile', async (_, change) => {
    const { world, over: abortController, passed: passedOffsets, heard: probeState, done: whenDone } = silentWorld();
    world.ledger.before = (request) => {
      if (request === 'list') change(probeState);
    };
    const whenProbed = whenDone();
    expect(await waitForAnswers(world, 1)).toEqual(['obsolete']);
    abortController.abort();
    await whenProbed;
    expect(passedOffsets).toEqual([]);
  });

  it.each([
    [
      'the stream',
      (world: World): unknown => (world.ledger.script = (stream) => stream.end(failure('LEDGER_UNAVAILABLE'))),
    ],
    ['the list', (world: World): unknown => (world.ledger.before = (request) => refuse(request === 'list'))],
  ])('retries if %s fails, and does not pass the range', async (_, prepareWorld) => {
    const { world, over: abortController, passed: passedOffsets, done: whenDone } = silentWorld();
    prepareWorld(world);
    const whenProbed = whenDone();
    expect(await waitForAnswers(world, 2)).toEqual(['refused', 'refused']);
    expect(world.reports.of('polls.idleProbed')[0]?.[1]?.code).toBe('LEDGER_UNAVAILABLE');
    abortController.abort();
    await whenProbed;
    expect(passedOffsets).toEqual([]);
  });

  it('runs at most once per interval, and waits for a Retry-After of the ledger', async () => {
    const clock = stopClock();
    const { world, over: abortController, heard: probeState, done: whenDone } = silentWorld();
    const throwUnavailable = (): never => {
      throw failure('LEDGER_UNAVAILABLE', { retryAfterSeconds: 8 });
    };
    let isBusy = false;
    world.ledger.before = (request) => (request === 'ledgerEnd' && isBusy ? throwUnavailable() : undefined);
    /** Number of requests for the ledger end after many turns at the current time of the clock. */
    const requests = async (): Promise<number> => {
      const expectedTurns = probeState.turns + 30;
      await waitFor('many turns', () => (probeState.turns >= expectedTurns ? true : undefined));
      return world.ledger.count('ledgerEnd');
    };
    const whenProbed = whenDone();
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
    abortController.abort();
    await whenProbed;
  });

  it('sends no request while updates wait to be written', async () => {
    const { world, over: abortController, passed: passedOffsets, heard: probeState, done: whenDone } = silentWorld();
    probeState.idle = false;
    const whenProbed = whenDone();
    await waitFor('looks', () => (probeState.looks > 1 ? true : undefined));
    abortController.abort();
    await whenProbed;
    expect(world.ledger.count('ledgerEnd')).toBe(0);
    expect(passedOffsets).toEqual([]);
  });
});

function refuse(condition: boolean): void {
  if (condition) throw failure('LEDGER_UNAVAILABLE');
}

function setOwnUpdates(world: World): void {
  world.ledger.history.set(23, topologyFrame(23));
  world.ledger.script = (stream) => stream.end();
}
