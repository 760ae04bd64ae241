/** Tests the check that the ledger has the stored history, for every way in which they can differ. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { IndexerError } from '../../src/errors/indexer-error.ts';
import { verifyHistory, type LedgerState } from '../../src/pipeline/proof/history-proof.ts';
import { failure, idAt, topologyFrame } from './memory-ledger.ts';
import { memoryWorld, type World } from './memory-parts.ts';
import { expectProperty } from '../support/chance/property.ts';

/** A ledger and a sink that both have updates at these offsets. The last offset is the checkpoint. */
function worldOfOffsets(...offsets: readonly number[]): World {
  const world = memoryWorld();
  world.ledger.grow(...offsets);
  world.sink.updates = offsets.map((offset) => ({ offset, updateId: idAt(offset) }));
  world.sink.stored.checkpoint = offsets.at(-1) ?? null;
  world.sink.stored.lastUpdate = world.sink.updates.at(-1);
  return world;
}

/** Replaces the updates of the ledger at this offset and above. */
function divergeFrom({ ledger }: World, from: number): void {
  for (const offset of ledger.history.keys()) {
    if (offset >= from) ledger.history.set(offset, topologyFrame(offset, `other ${String(offset)}`));
  }
}

function verifyWorld({ parts: pipeline, sink, ledger }: World, bounds: Partial<LedgerState> = {}): Promise<void> {
  const { end: ledgerEnd, pruned: prunedOffset } = ledger;
  return verifyHistory(pipeline, sink.stored, { ledgerEnd, pruned: prunedOffset, sameParticipant: false, ...bounds });
}

async function refusal(world: World, bounds?: Partial<LedgerState>): Promise<Partial<IndexerError>> {
  return verifyWorld(world, bounds).then(
    () => ({}),
    ({ code, retry, remedy, facts }: IndexerError) => ({ code, retry, remedy, facts }),
  );
}

describe('history check', () => {
  it('passes if the ledger has the newest stored update, and no later one before the checkpoint', async () => {
    const world = worldOfOffsets(10, 20);
    world.sink.stored.checkpoint = 25;
    world.ledger.end = 40;
    await expect(verifyWorld(world)).resolves.toBeUndefined();
  });

  it('sends no request before the first update is stored', async () => {
    const world = memoryWorld();
    await expect(verifyWorld(world)).resolves.toBeUndefined();
    expect(world.ledger.count('byOffset')).toBe(0);
  });

  it('fails if the ledger has another update, or none, at the newest stored offset', async () => {
    const otherWorld = worldOfOffsets(10, 20, 30);
    divergeFrom(otherWorld, 30);
    expect(await refusal(otherWorld)).toMatchObject({
      code: 'HISTORY_CHANGED',
      retry: 'park',
      facts: { commonOffset: 20 },
    });
    const prunedWorld = worldOfOffsets(10, 20, 30);
    prunedWorld.ledger.history.delete(30);
    expect(await refusal(prunedWorld)).toMatchObject({
      code: 'HISTORY_CHANGED',
      facts: { offset: 30, commonOffset: 20 },
    });
  });

  it('reports the newest common update, wherever the histories diverge', async () => {
    await expectProperty(
      fc.asyncProperty(
        fc.uniqueArray(fc.integer({ min: 1, max: 200 }), { minLength: 1, maxLength: 30 }),
        fc.nat(29),
        async (offsets, at) => {
          const risingOffsets = offsets.toSorted((a, b) => a - b);
          const world = worldOfOffsets(...risingOffsets);
          const partingIndex = at % risingOffsets.length;
          divergeFrom(world, risingOffsets[partingIndex] ?? 0);
          const { code, facts, remedy } = await refusal(world);
          expect(code).toBe('HISTORY_CHANGED');
          const commonOffset = risingOffsets[partingIndex - 1];
          expect(facts?.['commonOffset']).toBe(commonOffset);
          expect(remedy).toContain(
            commonOffset === undefined ? 'reset --all --yes' : `reset --to ${String(commonOffset)} --yes`,
          );
        },
      ),
      200,
    );
  });

  it('searches for a common update back to the filter start or the pruned offset', async () => {
    const world = worldOfOffsets(10, 20, 30, 40);
    divergeFrom(world, 40);
    world.sink.begin = 30;
    expect((await refusal(world)).facts).toEqual({ offset: 40 });
    world.sink.begin = 0;
    expect((await refusal(world, { pruned: 30 })).facts).toEqual({ offset: 40 });
    expect((await refusal(world, { pruned: 20 })).facts).toEqual({ offset: 40, commonOffset: 30 });
  });

  it('fails if the ledger returns an update between the newest stored one and the checkpoint', async () => {
    const world = worldOfOffsets(10, 20);
    world.sink.stored.checkpoint = 40;
    world.ledger.grow(30, 40);
    expect(await refusal(world)).toMatchObject({ code: 'HISTORY_CHANGED', facts: { offset: 30, commonOffset: 20 } });
    // Another filter may match updates that are not stored.
    await expect(verifyWorld(world, { otherFilter: true })).resolves.toBeUndefined();
    // Quarantined updates are known, so they are not a difference.
    world.sink.setAside.push(30, 40);
    await expect(verifyWorld(world)).resolves.toBeUndefined();
  });

  it('passes if the ledger returns no lists over HTTP', async () => {
    const world = worldOfOffsets(10, 20);
    world.sink.stored.checkpoint = 40;
    world.ledger.before = (request) => {
      if (request === 'list') throw failure('LEDGER_NOT_A_LEDGER');
    };
    world.ledger.end = 40;
    await expect(verifyWorld(world)).resolves.toBeUndefined();
  });
});

describe('history check of a shorter ledger', () => {
  it('reports LEDGER_BEHIND_CHECKPOINT if the ledger has the stored updates', async () => {
    const world = worldOfOffsets(10, 20, 30);
    const { code, retry, remedy } = await refusal(world, { ledgerEnd: 20 });
    expect([code, retry]).toEqual(['LEDGER_BEHIND_CHECKPOINT', 'retry']);
    expect(remedy).toContain('reset --to 20 --yes');
    world.sink.stored.seedOffset = 25;
    expect((await refusal(world, { ledgerEnd: 20 })).remedy).toContain('reset --all --yes');
  });

  it('reports HISTORY_CHANGED if a stored update is different or missing', async () => {
    const world = worldOfOffsets(10, 20, 30);
    divergeFrom(world, 20);
    const refusalError = await refusal(world, { ledgerEnd: 25 });
    expect(refusalError).toMatchObject({ code: 'HISTORY_CHANGED', facts: { offset: 20, commonOffset: 10 } });
    expect(await refusal(world, { ledgerEnd: 0 })).toMatchObject({ code: 'HISTORY_CHANGED', facts: { ledgerEnd: 0 } });
  });
});

describe('history check of a pruned ledger', () => {
  it('fails if the ledger is pruned past the checkpoint', async () => {
    const world = worldOfOffsets(10, 20);
    world.ledger.end = 40;
    expect(await refusal(world, { pruned: 21 })).toMatchObject({ code: 'LEDGER_PRUNED' });
  });

  /** A pruned ledger and a sink. Only their contracts can be compared. */
  function prunedWorld(): World {
    const world = worldOfOffsets(10, 20);
    world.ledger.pruned = 20;
    world.sink.activeContracts = [
      { contractId: '00a', offset: 20 },
      { contractId: '00b', offset: 10 },
    ];
    return world;
  }

  it('passes if the ledger has a stored contract, or is the same participant', async () => {
    const world = prunedWorld();
    world.ledger.active.push({ contractId: '00b', offset: 10 });
    await expect(verifyWorld(world)).resolves.toBeUndefined();
    world.ledger.active.length = 0;
    await expect(verifyWorld(world, { sameParticipant: true })).resolves.toBeUndefined();
  });

  it('fails if the ledger has no stored contract, or has one at another offset', async () => {
    const world = prunedWorld();
    expect(await refusal(world)).toMatchObject({ code: 'HISTORY_CHANGED', retry: 'park' });
    world.ledger.active.push({ contractId: '00a', offset: 19 });
    expect(await refusal(world)).toMatchObject({ code: 'HISTORY_CHANGED', retry: 'park' });
  });

  it('passes if the contract request is denied, and reports transient failures', async () => {
    const world = prunedWorld();
    world.ledger.before = () => {
      throw failure('LEDGER_PERMISSION_DENIED');
    };
    await expect(verifyWorld(world)).resolves.toBeUndefined();
    world.ledger.before = () => {
      throw failure('LEDGER_UNAVAILABLE');
    };
    expect(await refusal(world)).toMatchObject({ code: 'LEDGER_UNAVAILABLE' });
  });

  it('reports HISTORY_CHANGED after a gateway route is briefly missing', async () => {
    const world = prunedWorld();
    const failUntil = (times: number) => (_: string, count: number) => {
      if (count <= times) throw failure('LEDGER_NOT_A_LEDGER', { httpStatus: 404 });
    };
    world.ledger.before = failUntil(2);
    expect(await refusal(world)).toMatchObject({ code: 'HISTORY_CHANGED' });
    const behindWorld = worldOfOffsets(10, 20);
    behindWorld.sink.stored.checkpoint = 25;
    behindWorld.ledger.grow(23, 30);
    behindWorld.ledger.before = (sinkCall, count) => {
      if (sinkCall === 'list') failUntil(2)(sinkCall, count);
    };
    expect(await refusal(behindWorld)).toMatchObject({
      code: 'HISTORY_CHANGED',
      facts: { offset: 23, commonOffset: 20 },
    });
  });

  it('passes if the gateway route is always missing', async () => {
    const world = prunedWorld();
    world.ledger.before = () => {
      throw failure('LEDGER_NOT_A_LEDGER', { httpStatus: 404 });
    };
    await expect(verifyWorld(world)).resolves.toBeUndefined();
  });
});
