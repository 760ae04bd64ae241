/**
 * A reseed that keeps the history. Ledger, stream and staging are in memory. The tests check rejections, the offset of
 * the list of active contracts, and the resulting rows.
 */
import { describe, expect, it } from 'vitest';
import type { MergeResult } from '../../src/model/stream.ts';
import { planReseed, reseed, type ReseedPlan, type ExistingStream, type Staging } from '../../src/pipeline/reseed.ts';
import { failure, idAt } from './memory-ledger.ts';
import { memoryWorld, type World } from './memory-parts.ts';
import { MemorySink } from './memory-sink.ts';

const merged: MergeResult = { ended: 1, added: 2, kept: 3 };
const contracts = ['00a', '00b', '00c', '00d', '00e'];

/** Five active contracts on a ledger that ends at 9; the checkpoint of the stream is 5. */
function activeWorld(): World {
  const world = memoryWorld();
  contracts.forEach((contractId, index) => world.ledger.active.push({ contractId, offset: index + 1 }));
  world.ledger.grow(1, 2, 3, 4, 5, 9);
  return world;
}

/** The stored row of a stream that follows the same ledger. */
async function streamOf(world: World, change: Partial<ExistingStream> = {}): Promise<ExistingStream> {
  const lastUpdate = { offset: 5, updateId: idAt(5) };
  const { filterHash } = (await planReseed(world.parts, minimalStream)).identity;
  return { participantId: 'p::1220', seeded: true, checkpoint: 5, lastUpdate, filterHash, ...change };
}

const minimalStream: ExistingStream = {
  participantId: null,
  seeded: true,
  checkpoint: 0,
  lastUpdate: undefined,
  filterHash: '',
};

/** A staging area in memory; its sink keeps the staged rows. */
class MemoryStaging implements Staging {
  readonly sink = new MemorySink();
  readonly prepared: Parameters<Staging['prepare']>[0][] = [];
  readonly merges: Parameters<Staging['merge']>[0][] = [];
  sessions = 0;

  async prepare(request: Parameters<Staging['prepare']>[0]): Promise<void> {
    this.prepared.push(request);
  }

  async openSession(): ReturnType<Staging['openSession']> {
    this.sessions += 1;
    return this.sink.takeOver();
  }

  async merge(merge: Parameters<Staging['merge']>[0]): Promise<MergeResult> {
    this.merges.push(merge);
    return merged;
  }

  get staged(): readonly string[] {
    return this.sink.seedEntries.map(({ contractId }) => contractId);
  }
}

async function makePlan(world: World): Promise<ReseedPlan> {
  return planReseed(world.parts, await streamOf(world));
}

describe('planReseed()', () => {
  it('returns the checkpoint, the ledger end, and the reason for the gap', async () => {
    const world = activeWorld();
    await expect(makePlan(world)).resolves.toMatchObject({
      checkpoint: 5,
      ledgerEnd: 9,
      pruned: 0,
      reason: 'seeded again by the operator, after the checkpoint 5',
    });
    const stream = await streamOf(world, { filterHash: 'another' });
    world.ledger.pruned = 7;
    await expect(planReseed(world.parts, stream)).resolves.toMatchObject({
      pruned: 7,
      reason: 'the participant was pruned up to 7, past the checkpoint 5, with another filter from here on',
    });
  });

  it.each<[string, ExistingStream | undefined]>([
    ['nothing was indexed', undefined],
    ['nothing is published', { ...minimalStream, seeded: false }],
    ['there is no checkpoint', { ...minimalStream, checkpoint: null }],
  ])('rejects a stream without history: %s', async (_, stream) => {
    await expect(planReseed(activeWorld().parts, stream)).rejects.toMatchObject({
      code: 'RESEED_REFUSED',
      message: 'there is no history to keep in this schema',
    });
  });

  it('rejects another participant, and another history of the same participant', async () => {
    const world = activeWorld();
    const otherStream = await streamOf(world, { participantId: 'q::1220' });
    await expect(planReseed(world.parts, otherStream)).rejects.toMatchObject({ code: 'RESEED_REFUSED' });
    const restoredStream = await streamOf(world, { lastUpdate: { offset: 5, updateId: '1220ff' } });
    await expect(planReseed(world.parts, restoredStream)).rejects.toMatchObject({ code: 'RESEED_REFUSED' });
    const aheadStream = await streamOf(world, { checkpoint: 12, lastUpdate: { offset: 9, updateId: idAt(9) } });
    await expect(planReseed(world.parts, aheadStream)).rejects.toMatchObject({ code: 'RESEED_REFUSED' });
  });

  it('rethrows errors that are unrelated to the history', async () => {
    const world = activeWorld();
    const stream = await streamOf(world);
    world.ledger.before = (request) => {
      if (request === 'byOffset') throw failure('LEDGER_UNAVAILABLE');
    };
    await expect(planReseed(world.parts, stream)).rejects.toMatchObject({ code: 'LEDGER_UNAVAILABLE' });
  });

  it('returns a plan even if the participant id is unreadable', async () => {
    const world = activeWorld();
    const stream = await streamOf(world);
    world.ledger.participant = undefined;
    await expect(planReseed(world.parts, stream)).resolves.toMatchObject({ checkpoint: 5 });
  });
});

describe('reseed()', () => {
  it('reads contracts at the checkpoint if the participant still has that offset', async () => {
    const world = activeWorld();
    const staging = new MemoryStaging();
    const plan = await makePlan(world);
    await expect(reseed(world.parts, staging, plan)).resolves.toEqual({ ...merged, offset: 5 });
    expect(staging.staged).toEqual(contracts);
    expect(staging.prepared).toEqual([{ identity: plan.identity, notBefore: 5 }]);
    expect(staging.merges).toEqual([
      { identity: plan.identity, interfaces: [], offset: 5, checkpoint: 5, reason: plan.reason },
    ]);
  });

  it('reads contracts at the pruned offset of the participant if the checkpoint is pruned', async () => {
    const world = activeWorld();
    const stream = await streamOf(world);
    world.ledger.pruned = 7;
    const staging = new MemoryStaging();
    const plan = await planReseed(world.parts, stream);
    await expect(reseed(world.parts, staging, plan)).resolves.toMatchObject({ offset: 7 });
    expect(staging.prepared).toMatchObject([{ notBefore: 7 }]);
  });

  it('reads contracts at the ledger end if the participant rejects earlier offsets', async () => {
    const world = activeWorld();
    world.ledger.script = (stream, count) =>
      count === 1 ? stream.end(failure('LEDGER_PRUNED')) : world.ledger.serve(stream);
    const staging = new MemoryStaging();
    await expect(reseed(world.parts, staging, await makePlan(world))).resolves.toMatchObject({ offset: 9 });
    expect(world.ledger.streams.map(({ request }) => request.activeAtOffset)).toEqual([5, 9]);
    expect(staging.staged).toEqual(contracts);
    // The participant is not pruned there, so the rejection is attributed to reassignments in flight.
    expect(world.reports.failures).toEqual([['LEDGER_REASSIGNMENT_IN_FLIGHT', true]]);
  });

  it('resumes after the last staged entry when it was interrupted', async () => {
    const world = activeWorld();
    world.ledger.script = (stream, count) => {
      if (count > 1) return world.ledger.serve(stream);
      stream.send(...world.ledger.entriesAfter(stream.request).slice(0, 4));
      stream.end(failure('LEDGER_STREAM_CLOSED'));
    };
    const staging = new MemoryStaging();
    await expect(reseed(world.parts, staging, await makePlan(world))).resolves.toMatchObject({ offset: 5 });
    expect(staging.staged).toEqual(contracts);
    expect(staging.sessions).toBe(2);
    expect(staging.merges).toHaveLength(1);
  });

  it('does not read contracts again when it was interrupted before the merge', async () => {
    const world = activeWorld();
    const plan = await makePlan(world);
    const staging = new MemoryStaging();
    await reseed(world.parts, staging, plan);
    const streamCount = world.ledger.streams.length;
    await expect(reseed(world.parts, staging, plan)).resolves.toMatchObject({ offset: 5 });
    expect(world.ledger.streams).toHaveLength(streamCount);
    expect(staging.merges).toHaveLength(2);
  });

  it('discards a rejected access token and continues with a new one', async () => {
    const world = activeWorld();
    world.ledger.script = (stream, count) =>
      count === 1 ? stream.end(failure('LEDGER_TOKEN_EXPIRED')) : world.ledger.serve(stream);
    await expect(reseed(world.parts, new MemoryStaging(), await makePlan(world))).resolves.toMatchObject({ offset: 5 });
    expect(world.tokens.invalidated).toBe(1);
  });

  it('fails at once and merges nothing if no retry can succeed', async () => {
    const world = activeWorld();
    world.ledger.script = (stream) => stream.end(failure('LEDGER_PERMISSION_DENIED'));
    const staging = new MemoryStaging();
    await expect(reseed(world.parts, staging, await makePlan(world))).rejects.toMatchObject({
      code: 'LEDGER_PERMISSION_DENIED',
    });
    expect(world.reports.failures).toEqual([['LEDGER_PERMISSION_DENIED', false]]);
    expect(staging.merges).toEqual([]);
  });

  it('fails with INTERRUPTED and merges nothing when it is stopped', async () => {
    const world = activeWorld();
    world.ledger.script = (stream) => {
      stream.send(...world.ledger.entriesAfter(stream.request).slice(0, 2));
      world.stop.abort();
    };
    const staging = new MemoryStaging();
    await expect(reseed(world.parts, staging, await makePlan(world))).rejects.toMatchObject({ code: 'INTERRUPTED' });
    expect(staging.merges).toEqual([]);
  });

  it('merges nothing when it is stopped during the check of the list', async () => {
    const world = activeWorld();
    const plan = await makePlan(world);
    world.ledger.before = (request) => {
      if (request === 'activeContracts') world.stop.abort();
    };
    const staging = new MemoryStaging();
    await expect(reseed(world.parts, staging, plan)).rejects.toMatchObject({ code: 'INTERRUPTED' });
    expect(staging.merges).toEqual([]);
  });
});
