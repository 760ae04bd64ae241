/**
 * Tests the seed with a ledger and a sink in memory. The seed is published after its list is confirmed complete, and
 * resumes after interruptions.
 */
import { lastValueFrom } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { releaseOf } from '../../src/ledger/api/release.ts';
import { emptyRange, type OffsetRange } from '../../src/pipeline/retry/isolate-failing-update.ts';
import { seed$, skipSeed } from '../../src/pipeline/seed.ts';
import { deferred } from '../support/deferred.ts';
import { waitFor } from '../support/wait-for.ts';
import { failure, idAt } from './memory-ledger.ts';
import { memoryWorld, type World } from './memory-parts.ts';

const contracts = ['00a', '00b', '00c', '00d', '00e'];
const path = '/v2/state/active-contracts';

/** Five active contracts, created by updates 1 to 5. The ledger ends at 9. */
function seeding(limits: { readonly batchUpdates?: number; readonly writeConcurrency?: number } = {}): World {
  const world = memoryWorld({ limits });
  contracts.forEach((contractId, index) => world.ledger.active.push({ contractId, offset: index + 1 }));
  world.ledger.grow(1, 2, 3, 4, 5, 9);
  return world;
}

interface SeedResult {
  /** The seed offset; undefined if a stop was requested. Rejects with the error that ended the session. */
  readonly done: Promise<number | undefined>;
  /** How often the session stored entries that no later session reads again. */
  readonly progress: () => number;
}

/** Runs one session of the seed. */
function session(world: World, change: { readonly apart?: OffsetRange; readonly strict?: true } = {}): SeedResult {
  let progress = 0;
  const onProgress = (): void => {
    progress += 1;
  };
  const run = { apart: emptyRange, onProgress, ...change };
  const whenDone = lastValueFrom(seed$(world.parts, world.sink.takeOver(), world.ledger.end, run));
  whenDone.catch(() => undefined);
  return { done: whenDone, progress: () => progress };
}

/** The same world after the participant was upgraded to another version. */
function withRelease(world: World, version: string): World {
  world.ledger.version = version;
  return { ...world, parts: { ...world.parts, release: releaseOf(version) } };
}

/** Ids of the seed contracts in the sink. */
function storedIds({ sink }: World): readonly string[] {
  return sink.seedEntries.map(({ contractId }) => contractId);
}

/** Ends the first stream after this number of entries: with an error, or with code 1000 like a gateway. */
function cutFirstList(world: World, entries: number, error = true): void {
  world.ledger.script = (stream, count) => {
    if (count > 1) return world.ledger.serve(stream);
    stream.send(...world.ledger.entriesAfter(stream.request).slice(0, entries));
    stream.end(error ? failure('LEDGER_STREAM_CLOSED') : undefined);
  };
}

describe('seed', () => {
  it('stores every entry once, and is published at the ledger end with an anchor update', async () => {
    const world = seeding();
    await expect(session(world).done).resolves.toBe(9);
    expect(storedIds(world)).toEqual(contracts);
    expect(world.sink.published).toEqual([{ offset: 9, origin: 'seed', anchor: { offset: 5, updateId: idAt(5) } }]);
    expect(world.reports.of('seed.done')).toEqual([[{ contracts: 5, offset: 9 }]]);
  });

  it('reports its offset only after it is published', async () => {
    const world = seeding();
    const publishedOffsets: number[] = [];
    world.parts.commits.reached = ((notify) => (checkpoint: number) => {
      publishedOffsets.push(world.sink.published.length);
      notify(checkpoint);
    })(world.parts.commits.reached.bind(world.parts.commits));
    await session(world).done;
    expect([publishedOffsets, world.reached]).toEqual([[1], [9]]);
  });

  it('is published without an anchor update if the ledger cannot return one', async () => {
    const world = seeding();
    world.ledger.before = (request) => {
      if (request === 'byOffset') throw failure('LEDGER_PRUNED');
    };
    await expect(session(world).done).resolves.toBe(9);
    expect(world.sink.published).toEqual([{ offset: 9, origin: 'seed' }]);
  });

  it('resumes after its newest stored token, and stores nothing twice', async () => {
    const world = seeding();
    cutFirstList(world, 4);
    const first = session(world);
    await expect(first.done).rejects.toMatchObject({ code: 'LEDGER_STREAM_CLOSED' });
    await waitFor('what was under way', () => (world.sink.stored.seedContracts === 4 ? true : undefined));
    expect(world.sink.published).toEqual([]);
    // Later contracts of the ledger are not part of the first list.
    world.ledger.grow(12);
    await expect(session(world).done).resolves.toBe(9);
    expect(world.ledger.begins(path)).toEqual([undefined, 3]);
    expect(storedIds(world)).toEqual(contracts);
    expect(world.sink.count('beginSeed')).toBe(1);
  });

  it('reports progress only if a token was stored', async () => {
    const world = seeding();
    const withTokens = session(world);
    await withTokens.done;
    expect(withTokens.progress()).toBeGreaterThan(0);
    const otherWorld = seeding();
    otherWorld.ledger.tokens = false;
    const sessionWithoutProbe = session(otherWorld);
    await sessionWithoutProbe.done;
    expect(sessionWithoutProbe.progress()).toBe(0);
  });

  it('starts over after an interruption if the ledger sent no tokens', async () => {
    const world = seeding();
    world.ledger.tokens = false;
    cutFirstList(world, 4);
    await expect(session(world).done).rejects.toMatchObject({ code: 'LEDGER_STREAM_CLOSED' });
    await expect(session(world).done).resolves.toBe(9);
    expect(world.sink.count('beginSeed')).toBe(2);
    expect(storedIds(world)).toEqual(contracts);
  });

  it.each([['LEDGER_CONTINUATION_TOKEN_INVALID'], ['LEDGER_PRUNED'], ['LEDGER_OFFSET_AFTER_END']] as const)(
    'starts over at the ledger end if resuming fails with %s',
    async (code) => {
      const world = seeding();
      cutFirstList(world, 2);
      await expect(session(world).done).rejects.toMatchObject({ code: 'LEDGER_STREAM_CLOSED' });
      await waitFor('a token', () => (world.sink.stored.seedToken === null ? undefined : true));
      world.ledger.grow(12);
      world.ledger.pruned = code === 'LEDGER_PRUNED' ? 10 : 0;
      world.ledger.script = (stream, count) => (count === 2 ? stream.end(failure(code)) : world.ledger.serve(stream));
      await expect(session(world).done).rejects.toMatchObject({ code: 'SEED_PRUNED', facts: { reason: code } });
      expect(world.sink.stored.seedToken).toBeNull();
      await expect(session(world).done).resolves.toBe(12);
      expect(storedIds(world)).toEqual(contracts);
    },
  );

  it('starts over and reports why if its offset is wrongly rejected as pruned', async () => {
    const world = seeding();
    world.ledger.pruned = 9;
    world.ledger.script = (stream, count) =>
      count === 1 ? stream.end(failure('LEDGER_PRUNED')) : world.ledger.serve(stream);
    const error = await session(world).done.catch((caughtError: unknown) => caughtError);
    expect(error).toMatchObject({
      code: 'LEDGER_REASSIGNMENT_IN_FLIGHT',
      retry: 'retry',
      facts: { offset: 9, pruned: 9 },
    });
    expect(String(error)).toContain('reassignments were in flight');
    await expect(session(world).done).resolves.toBe(9);
  });

  it('starts over once if the participant was upgraded before it resumes', async () => {
    const world = seeding();
    cutFirstList(world, 4);
    await expect(session(world).done).rejects.toMatchObject({ code: 'LEDGER_STREAM_CLOSED' });
    await waitFor('a token', () => (world.sink.stored.seedToken === null ? undefined : true));
    world.ledger.grow(12);
    const upgradedWorld = withRelease(world, '3.7.4');
    world.ledger.script = (stream, count) =>
      count === 2 ? stream.end(failure('LEDGER_STREAM_CLOSED')) : world.ledger.serve(stream);
    await expect(session(upgradedWorld).done).rejects.toMatchObject({ code: 'LEDGER_STREAM_CLOSED' });
    await expect(session(upgradedWorld).done).resolves.toBe(12);
    expect(world.ledger.begins(path)).toEqual([undefined, undefined, undefined]);
    const otherRelease = { kind: 'other', version: '3.7.4', seedRelease: '3.5.10', offset: 9, contracts: 4 };
    expect(world.reports.of('release.found')).toEqual([[otherRelease]]);
    expect(world.sink.stored).toMatchObject({ seedRelease: '3.7.4', seedHasInFlight: true });
    expect(storedIds(world)).toEqual(contracts);
  });

  it('is not published if the participant was upgraded while the list was read', async () => {
    const world = seeding();
    world.ledger.before = (request) => {
      if (request === 'activeContracts') world.ledger.version = '3.7.4';
    };
    await expect(session(world).done).rejects.toMatchObject({ code: 'SEED_PRUNED' });
    expect(world.sink.published).toEqual([]);
    const flags = (): readonly unknown[] =>
      world.ledger.streams.map(({ request }) => request.includeIncompleteReassignments);
    await expect(session(withRelease(world, '3.7.4')).done).resolves.toBe(9);
    expect(flags()).toEqual([undefined, true]);
  });

  it('is not published after an early close with code 1000, and resumes after its token', async () => {
    const world = seeding();
    cutFirstList(world, 3, false);
    await expect(session(world).done).rejects.toMatchObject({ code: 'LEDGER_STREAM_TRUNCATED' });
    expect(world.sink.published).toEqual([]);
    await expect(session(world).done).resolves.toBe(9);
    expect(storedIds(world)).toEqual(contracts);
  });

  it('is not published after an early close without tokens', async () => {
    const world = seeding();
    world.ledger.tokens = false;
    cutFirstList(world, 3, false);
    await expect(session(world).done).rejects.toMatchObject({ code: 'LEDGER_STREAM_TRUNCATED' });
    expect(world.sink.published).toEqual([]);
  });

  it('retries a failed check before it discards a list without tokens', async () => {
    const world = seeding();
    world.ledger.tokens = false;
    world.ledger.before = (request, count) => {
      if (request === 'activeContracts' && count === 1) throw failure('LEDGER_UNAVAILABLE');
    };
    await expect(session(world).done).resolves.toBe(9);
    expect(world.reports.failures).toEqual([['LEDGER_UNAVAILABLE', true]]);
    expect(world.ledger.streams).toHaveLength(1);
  });

  it('is not published if the list cannot be confirmed complete', async () => {
    const world = seeding();
    world.ledger.before = (request) => {
      if (request === 'activeContracts') throw failure('LEDGER_NOT_A_LEDGER');
    };
    await expect(session(world).done).rejects.toMatchObject({ code: 'SEED_UNVERIFIED' });
    expect(world.sink.published).toEqual([]);
  });

  it('is published without entries if the ledger has no contracts', async () => {
    const world = memoryWorld();
    world.ledger.end = 9;
    await expect(session(world).done).resolves.toBe(9);
    expect(world.sink.published).toEqual([{ offset: 9, origin: 'seed' }]);
  });

  it('completes the current writes when it is stopped, and is not published', async () => {
    const world = seeding({ batchUpdates: 1, writeConcurrency: 1 });
    const writing = deferred();
    world.sink.before = (sinkCall) => (sinkCall === 'writeSeed' ? writing.promise : undefined);
    const { done: whenDone } = session(world);
    await waitFor('a write', () => (world.sink.count('writeSeed') > 0 ? true : undefined));
    world.stop.abort();
    writing.resolve();
    await expect(whenDone).resolves.toBeUndefined();
    expect(world.sink.stored.seedContracts).toBeGreaterThan(0);
    expect(world.sink.published).toEqual([]);
  });

  it('is not published when it is stopped during the check of the list', async () => {
    const world = seeding();
    world.ledger.before = (request) => {
      if (request === 'activeContracts') world.stop.abort();
    };
    await expect(session(world).done).resolves.toBeUndefined();
    expect(storedIds(world)).toEqual(contracts);
    expect(world.sink.published).toEqual([]);
  });

  it('commits nothing after a failed batch, and rolls back concurrent writes', async () => {
    const world = seeding({ batchUpdates: 1, writeConcurrency: 3 });
    const failing = deferred();
    world.sink.before = (sinkCall, count) => (sinkCall === 'writeSeed' && count === 2 ? failing.promise : undefined);
    const { done: whenDone } = session(world);
    await waitFor('three writes', () => (world.sink.count('writeSeed') >= 3 ? true : undefined));
    failing.reject(failure('STORE_UNREACHABLE'));
    await expect(whenDone).rejects.toMatchObject({ code: 'STORE_UNREACHABLE', facts: { from: 1, upTo: 2 } });
    expect(storedIds(world)).toEqual(['00a']);
  });

  it('writes entries one by one after a failed batch, and reports the rejected entry', async () => {
    const world = seeding({ batchUpdates: 5 });
    // The database rejects the third entry, whether it is in a batch or alone.
    world.sink.before = (sinkCall, _, batch) => {
      const third = world.sink.stored.seedContracts + (batch?.entries ?? 0) >= 3;
      if (sinkCall === 'writeSeed' && third) throw failure('STORE_DATA_REFUSED');
    };
    await expect(session(world).done).rejects.toMatchObject({ facts: { from: 0, upTo: 5 } });
    const isolatedSession = session(world, { apart: { from: 0, upTo: 5 } });
    await expect(isolatedSession.done).rejects.toMatchObject({ facts: { entry: 3, contractId: '00c', seedOffset: 9 } });
  });

  it('reports an entry that cannot be decoded', async () => {
    const world = seeding({ batchUpdates: 5 });
    world.ledger.script = (stream) => {
      const [first = '', second = ''] = world.ledger.entriesAfter(stream.request);
      stream.send(first, second.replace('"contractId":"00b"', '"contractId":7'));
    };
    await expect(session(world).done).rejects.toMatchObject({ facts: { entry: 2, seedOffset: 9 } });
  });
});

describe('skipSeed()', () => {
  it.each([
    ['genesis', 0, 0, 'genesis'],
    ['oldest', 4, 4, 'oldest'],
    [7, 4, 7, 'offset'],
    [4, 4, 4, 'offset'],
  ] as const)(
    'converts the start %s, pruned up to %d, to checkpoint %d',
    async (start, prunedOffset, offset, origin) => {
      const world = memoryWorld({ start });
      await expect(skipSeed(world.parts, world.sink.takeOver(), prunedOffset)).resolves.toBe(offset);
      expect(world.sink.published).toEqual([{ offset, origin }]);
      expect(world.sink.stored.checkpoint).toBe(offset);
    },
  );

  it.each(['genesis', 3] as const)('writes nothing if the start %s is pruned', async (start) => {
    const world = memoryWorld({ start });
    await expect(skipSeed(world.parts, world.sink.takeOver(), 4)).rejects.toMatchObject({
      code: 'LEDGER_PRUNED',
      remedy: expect.stringContaining('INDEXER_START=oldest') as string,
    });
    expect(world.sink.published).toEqual([]);
    expect(world.sink.stored.checkpoint).toBeNull();
  });
});
