/**
 * Consecutive sessions with a ledger and a sink in memory. The tests check why a session ends, how the run reacts, and
 * at which offset the next session begins.
 */
import { describe, expect, it } from 'vitest';
import { ledgerError } from '../../src/ledger/errors/make-ledger-error.ts';
import { defaultPace } from '../../src/config/pace.ts';
import { runPipeline } from '../../src/pipeline/run.ts';
import { deferred } from '../support/deferred.ts';
import { pause, waitFor } from '../support/wait-for.ts';
import { failure } from './memory-ledger.ts';
import { memoryWorld, type World } from './memory-parts.ts';

/** Starts a run. Rejects with the error that ended it. */
function startRun(world: World): Promise<void> {
  const whenRunEnds = runPipeline(world.parts);
  whenRunEnds.catch(() => undefined);
  return whenRunEnds;
}

async function waitForOffset({ sink }: World, checkpoint: number): Promise<void> {
  await waitFor(`checkpoint ${String(checkpoint)}`, () =>
    (sink.stored.checkpoint ?? 0) >= checkpoint ? true : undefined,
  );
}

async function waitForPhase({ reports }: World, phase: string): Promise<void> {
  await waitFor(`phase ${phase}`, () => (reports.phases.at(-1) === phase ? true : undefined));
}

/** Stops the run, and waits for its end. */
async function waitForEnd(world: World, whenRunEnds: Promise<void>): Promise<void> {
  world.stop.abort();
  await whenRunEnds;
}

/** Expects every update of the ledger once, in order, and each commit to begin where the previous one ended. */
function expectComplete({ sink, ledger }: World, from = 0): void {
  expect(sink.updates.map(({ offset }) => offset)).toEqual(
    [...ledger.history.keys()].filter((offset) => offset > from),
  );
  sink.commits.forEach((commit, index) => expect(commit.from).toBe(sink.commits[index - 1]?.to ?? from));
}

describe('indexer run', () => {
  it('seeds, follows the stream, becomes live, and releases the lock when it ends', async () => {
    const world = memoryWorld();
    world.ledger.active.push({ contractId: '00a', offset: 7 });
    world.ledger.grow(7);
    const whenRunEnds = startRun(world);
    await waitForPhase(world, 'live');
    expect(world.sink.held).toBe(true);
    world.ledger.grow(8, 9, 12);
    await waitForOffset(world, 12);
    await waitForEnd(world, whenRunEnds);
    expect(world.reports.phases).toEqual(['starting', 'seeding', 'live', 'stopping']);
    expect(world.sink.seedEntries.map(({ contractId }) => contractId)).toEqual(['00a']);
    expect(world.ledger.begins('/v2/updates')).toEqual([7]);
    expectComplete(world, 7);
    expect(world.sink.held).toBe(false);
    expect(world.reports.of('polls.lockHeld').at(-1)).toEqual([undefined, false]);
  });

  it('reports the stored checkpoint while the ledger does not respond', async () => {
    const world = memoryWorld();
    Object.assign(world.sink.stored, { seeded: true, seedOffset: 3, checkpoint: 7 });
    world.ledger.before = () => {
      throw failure('LEDGER_UNREACHABLE');
    };
    const whenRunEnds = startRun(world);
    await waitForPhase(world, 'backing_off');
    expect(world.reports.of('stream.storedFound')[0]).toEqual([7]);
    // Waiting clients are notified only after the history of the ledger is confirmed.
    expect(world.reached).toEqual([]);
    await waitForEnd(world, whenRunEnds);
  });

  it('polls for background jobs until it ends', async () => {
    const world = memoryWorld({ start: 'genesis', stopAt: 3, pace: { ...defaultPace, commandsMs: 10 } });
    const jobPolls = (): number => world.reports.of('jobs.seen').length;
    world.ledger.grow(3);
    // A run in memory can end before its first timer is due.
    world.sink.before = async (sinkCall) => {
      if (sinkCall === 'writeBatch') await waitFor('jobs', () => (jobPolls() > 0 ? true : undefined));
    };
    await startRun(world);
    const pollsAtEnd = jobPolls();
    await pause(100);
    expect(jobPolls()).toBe(pollsAtEnd);
  });

  it('starts each session at the stored checkpoint, and keeps the lock after ledger failures', async () => {
    const world = memoryWorld({ start: 'genesis' });
    world.ledger.grow(10, 20, 30, 40);
    world.ledger.script = (stream, count) => {
      if (count > 2) return world.ledger.serve(stream);
      stream.send(...world.ledger.updatesOf(stream.request).slice(0, 1));
      stream.end(failure('LEDGER_STREAM_CLOSED'));
    };
    const whenRunEnds = startRun(world);
    await waitForOffset(world, 40);
    await waitForEnd(world, whenRunEnds);
    expect(world.ledger.begins('/v2/updates')).toEqual([0, 10, 20]);
    expectComplete(world);
    expect(world.reports.failures).toEqual([
      ['LEDGER_STREAM_CLOSED', true],
      ['LEDGER_STREAM_CLOSED', true],
    ]);
    expect(world.sink.count('tryLock')).toBe(1);
    expect(world.sink.count('openSession')).toBe(3);
  });

  it('acquires the lock again after a database failure', async () => {
    const world = memoryWorld({ start: 'genesis' });
    world.ledger.grow(10, 20, 30);
    world.sink.before = (sinkCall, count) => {
      if (sinkCall === 'writeBatch' && count === 2) throw failure('STORE_UNREACHABLE');
    };
    const whenRunEnds = startRun(world);
    await waitForOffset(world, 30);
    await waitForEnd(world, whenRunEnds);
    expectComplete(world);
    expect(world.sink.count('tryLock')).toBe(2);
  });

  it('becomes a standby when the lock is lost, and resumes at the newer checkpoint', async () => {
    const world = memoryWorld({ start: 'genesis' });
    world.ledger.grow(10);
    const whenRunEnds = startRun(world);
    await waitForOffset(world, 10);
    await waitForPhase(world, 'live');
    world.sink.loseLock();
    await waitForPhase(world, 'standby');
    expect(world.reports.failures).toEqual([['STORE_LOCK_LOST', true]]);
    // The other process writes, and releases the lock.
    world.ledger.grow(20, 30);
    world.sink.takeOver();
    world.sink.stored.checkpoint = 20;
    world.sink.updates.push({ offset: 20, updateId: '122020' });
    world.sink.stored.lastUpdate = { offset: 20, updateId: '122020' };
    world.sink.occupied = false;
    await waitForOffset(world, 30);
    await waitForEnd(world, whenRunEnds);
    expect(world.ledger.begins('/v2/updates')).toEqual([0, 20]);
    expect(world.sink.commits.map(({ from, to }) => [from, to])).toEqual([
      [0, 10],
      [20, 30],
    ]);
  });

  it('overwrites nothing when it is fenced, and resumes at the checkpoint of the new writer', async () => {
    const world = memoryWorld({ start: 'genesis' });
    const writing = deferred();
    world.ledger.grow(10);
    world.sink.before = async (sinkCall, count) => {
      if (sinkCall === 'writeBatch' && count === 1) await writing.promise;
    };
    const whenRunEnds = startRun(world);
    await waitFor('the write', () => (world.sink.count('writeBatch') === 1 ? true : undefined));
    world.sink.takeOver();
    world.sink.stored.checkpoint = 10;
    world.sink.updates.push({ offset: 10, updateId: '122010' });
    writing.resolve();
    await waitFor('the next session', () => (world.sink.count('openSession') === 2 ? true : undefined));
    await waitForPhase(world, 'live');
    await waitForEnd(world, whenRunEnds);
    expect(world.reports.failures).toEqual([['WRITER_FENCED', true]]);
    expect(world.sink.commits).toEqual([]);
    expect(world.ledger.begins('/v2/updates')).toEqual([0, 10]);
  });

  it('releases the lock and parks if an operator must act', async () => {
    const world = memoryWorld();
    world.sink.stored.participantId = 'another::1220';
    const whenRunEnds = startRun(world);
    await waitForPhase(world, 'parked');
    await waitFor('the lock is free', () => (world.sink.held ? undefined : true));
    await waitForEnd(world, whenRunEnds);
    expect(world.reports.of('stream.phaseChanged').find(([phase]) => phase === 'parked')?.[1]?.code).toBe(
      'PARTICIPANT_CHANGED',
    );
    expect(world.reports.phases.at(-1)).toBe('stopping');
  });

  it('fails instead of parking if it has an end offset', async () => {
    const world = memoryWorld({ stopAt: 30 });
    world.sink.stored.participantId = 'another::1220';
    await expect(startRun(world)).rejects.toMatchObject({ code: 'PARTICIPANT_CHANGED' });
    expect(world.reports.phases).not.toContain('parked');
  });

  it('parks after consecutive rejected tokens, and resumes with a new token', async () => {
    const world = memoryWorld({ start: 'genesis' });
    world.ledger.grow(10);
    world.ledger.before = () => {
      if (world.tokens.current?.token !== 'good') throw failure('LEDGER_UNAUTHENTICATED');
    };
    const whenRunEnds = startRun(world);
    await waitForPhase(world, 'parked');
    expect(world.tokens.invalidated).toBe(3);
    expect(world.reports.failures).toHaveLength(3);
    world.tokens.replace('good');
    await waitForOffset(world, 10);
    await waitForEnd(world, whenRunEnds);
    expect(world.ledger.streams.map(({ token }) => token)).toEqual(['good']);
  });

  it('retries a missing gateway route before it assumes an older participant', async () => {
    const world = memoryWorld({ start: 'seed' });
    world.ledger.grow(9);
    world.ledger.version = '3.7.4';
    let readCount = 0;
    const version = (): Promise<{ version: string }> => {
      readCount += 1;
      if (readCount > 1) return Promise.resolve({ version: world.ledger.version });
      return Promise.reject(
        ledgerError('LEDGER_NOT_A_LEDGER', 'the ledger URL returned HTTP 404', { facts: { httpStatus: 404 } }),
      );
    };
    Object.assign(world.ledger, { node: { version } });
    const whenRunEnds = startRun(world);
    await waitForOffset(world, 9);
    expect(world.ledger.streams[0]?.request.includeIncompleteReassignments).toBe(true);
    await waitForEnd(world, whenRunEnds);
  });

  it('parks if every seed is rejected because of reassignments in flight', async () => {
    const world = memoryWorld({ start: 'seed', limits: { retryMaxDelayMs: 1 } });
    world.ledger.active.push({ contractId: '00a', offset: 1 }, { contractId: '00b', offset: 2 });
    world.ledger.grow(1, 2, 9);
    // The list ends normally. When the check is requested, its offset is no longer the ledger end.
    world.ledger.before = (request) => {
      if (request === 'activeContracts') throw failure('LEDGER_PRUNED');
    };
    const whenRunEnds = startRun(world);
    await waitForPhase(world, 'parked');
    expect(world.reports.failures.map(([code]) => code)).toEqual(
      Array.from({ length: 6 }, () => 'LEDGER_REASSIGNMENT_IN_FLIGHT'),
    );
    expect(world.sink.published).toEqual([]);
    await waitForEnd(world, whenRunEnds);
  });

  it('fails and releases the lock if no retry can succeed', async () => {
    const world = memoryWorld({ start: 'genesis' });
    world.sink.before = (sinkCall) => {
      if (sinkCall === 'beginSeed') throw new TypeError('a mistake of ours');
    };
    await expect(startRun(world)).rejects.toMatchObject({ code: 'UNEXPECTED' });
    expect(world.reports.failures).toEqual([['UNEXPECTED', false]]);
    expect(world.sink.held).toBe(false);
  });

  it.each([
    ['waits for the lock', 'standby', (world: World): unknown => (world.sink.occupied = true)],
    [
      'waits after a failure',
      'parked',
      (world: World): unknown => (world.sink.before = (sinkCall) => refuse(sinkCall === 'openSession')),
    ],
  ] as const)('stops while it %s', async (_, phase, prepareWorld) => {
    const world = memoryWorld();
    prepareWorld(world);
    const whenRunEnds = startRun(world);
    await waitForPhase(world, phase);
    await waitForEnd(world, whenRunEnds);
    expect(world.sink.commits).toEqual([]);
  });
});

function refuse(condition: boolean): void {
  if (condition) throw failure('FILTER_CHANGED');
}

describe('bounded run', () => {
  it('ends at its end offset, and stores nothing above it', async () => {
    const world = memoryWorld({ start: 'genesis', stopAt: 30 });
    world.ledger.grow(10, 20, 30, 40);
    await startRun(world);
    expect(world.sink.updates.map(({ offset }) => offset)).toEqual([10, 20, 30]);
    expect(world.sink.stored.checkpoint).toBe(30);
  });

  it('fails with the last error if nothing is stored within INDEXER_PROGRESS_TIMEOUT', async () => {
    const world = memoryWorld({ start: 'genesis', stopAt: 30, limits: { progressTimeoutMs: 40 } });
    world.sink.before = (sinkCall) => {
      if (sinkCall === 'openSession') throw failure('STORE_UNREACHABLE');
    };
    await expect(startRun(world)).rejects.toMatchObject({
      code: 'STORE_UNREACHABLE',
      message: expect.stringContaining('INDEXER_PROGRESS_TIMEOUT') as unknown,
    });
    expect(world.sink.count('openSession')).toBeGreaterThan(1);
  });

  it('ends at the ledger end of its first session, even if the ledger end rises later', async () => {
    const world = memoryWorld({ start: 'genesis', stopAt: 'end' });
    world.ledger.grow(10, 20);
    world.ledger.script = (stream, count) => {
      if (count > 1) return world.ledger.serve(stream);
      world.ledger.grow(30);
      stream.end(failure('LEDGER_STREAM_CLOSED'));
    };
    await startRun(world);
    expect(world.sink.stored.checkpoint).toBe(20);
  });

  it.each([
    [{ checkpoint: 40, seeded: true }, {}],
    [{}, { start: 31 }],
    [{ seedOffset: 35, seedToken: 'MA==' }, {}],
  ] as const)('is rejected if its end offset cannot be reached: %j %j', async (storedState, change) => {
    const world = memoryWorld({ stopAt: 30, ...change });
    world.ledger.grow(10, 40);
    Object.assign(world.sink.stored, storedState);
    await expect(startRun(world)).rejects.toMatchObject({ code: 'STOP_AT_REFUSED' });
    expect(world.sink.commits).toEqual([]);
  });
});

describe('update that the database rejects', () => {
  /** The database rejects the second of four updates, whether it is alone or in a batch. */
  function refusingWorld(quarantine: boolean): World {
    const world = memoryWorld({ start: 'genesis', quarantine, limits: { batchUpdates: 4 } });
    world.ledger.grow(10, 20, 30, 40);
    world.sink.before = (sinkCall, _, batch) => {
      if (sinkCall === 'writeBatch' && holdsUpTo(world, batch?.offset ?? 0)) throw failure('STORE_DATA_REFUSED');
    };
    return world;
  }

  /** Whether a batch that ends at this offset contains the rejected update, if it is not stored or quarantined yet. */
  function holdsUpTo({ sink }: World, untilOffset: number): boolean {
    return (sink.stored.checkpoint ?? 0) < 20 && untilOffset >= 20;
  }

  it('parks the run with its offset', async () => {
    const world = refusingWorld(false);
    const whenRunEnds = startRun(world);
    await waitForPhase(world, 'parked');
    await waitForEnd(world, whenRunEnds);
    expect(world.reports.errors().map(({ facts }) => facts['offset'])).toEqual([undefined, 20]);
    expect(world.sink.updates.map(({ offset }) => offset)).toEqual([10]);
  });

  it('is quarantined if configured, and all other updates are stored', async () => {
    const world = refusingWorld(true);
    const whenRunEnds = startRun(world);
    await waitForOffset(world, 40);
    await waitForEnd(world, whenRunEnds);
    expect(world.sink.setAside).toEqual([20]);
    expect(world.sink.updates.map(({ offset }) => offset)).toEqual([10, 30, 40]);
  });
});
