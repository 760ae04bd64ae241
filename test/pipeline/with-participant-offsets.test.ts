/**
 * A stream that was switched to another participant converts to the offsets of that participant. Rows from before the
 * switch have no such offsets.
 */
import { describe, expect, it } from 'vitest';
import { updateOf, withParticipantOffsets } from '../../src/pipeline/participant/with-participant-offsets.ts';
import { isRangeEmpty } from '../../src/pipeline/intake/bound.ts';
import { listMatchingOffsets } from '../../src/pipeline/proof/update-id.ts';
import { here } from '../support/frames.ts';
import { topologyFrame } from './memory-ledger.ts';
import { memoryWorld } from './memory-parts.ts';

/** Offset 10 of the participant is 1010 here. Updates up to its offset 15 are stored, although the switch was at 12. */
const range = {
  number: 2,
  from: 1012,
  shift: 1000,
  overlaps: { [here]: 1015 },
  common: { offset: 1012, updateId: '122012' },
};

function orderPort(offsets: readonly number[]) {
  const world = memoryWorld();
  for (const offset of offsets) world.ledger.history.set(offset, topologyFrame(offset));
  world.ledger.end = Math.max(...offsets);
  return { ...world, parts: withParticipantOffsets(world.parts, range) };
}

describe('withParticipantOffsets()', () => {
  it('returns its input if the stream was never switched', () => {
    const { parts: pipeline } = memoryWorld();
    expect(withParticipantOffsets(pipeline, undefined)).toBe(pipeline);
  });

  it('continues a list after a page that contains only stored updates', async () => {
    expect(await isRangeEmpty(orderPort([13, 14, 15]).parts, 1012, 1015)).toBe(true);
    expect(await isRangeEmpty(orderPort([13, 14, 15, 16]).parts, 1012, 1016)).toBe(false);
    expect(await listMatchingOffsets(orderPort([11, 13, 15, 16, 18]).parts, 1010, 1018)).toEqual([1016, 1018]);
  });

  it('converts the offsets of requests and responses', async () => {
    const { parts: pipeline, ledger } = orderPort([13, 20]);
    ledger.pruned = 7;
    expect(await pipeline.ledger.state.ledgerEnd()).toBe(1020);
    expect(await pipeline.polledLedger.state.ledgerEnd()).toBe(1020);
    expect(await pipeline.ledger.state.latestPrunedOffsets()).toBe(1007);
    ledger.active.push({ contractId: '00a', offset: 9 }, { contractId: '00b', offset: 18 });
    const createdAt = async (contractId: string): Promise<number | undefined> =>
      (await pipeline.ledger.events.byContractId(contractId, { filtersByParty: {}, verbose: false }))?.created
        ?.createdEvent.offset;
    // A contract from before the switch has no offset in the index.
    expect(await createdAt('00a')).toBeUndefined();
    expect(await createdAt('00b')).toBe(1018);
  });

  it('skips stored updates, and reports an unreadable update with its offset in the index', () => {
    const { parts: pipeline } = orderPort([13]);
    expect(updateOf(pipeline, topologyFrame(15))).toEqual({
      kind: 'offset_checkpoint',
      offset: 1015,
      synchronizerTimes: [],
    });
    expect(updateOf(pipeline, topologyFrame(16))).toMatchObject({ kind: 'topology', offset: 1016 });
    const brokenFrame = topologyFrame(16).replace('"events":[]', '"events":[1]');
    expect(() => updateOf(pipeline, brokenFrame)).toThrow(
      expect.objectContaining({ facts: expect.objectContaining({ offset: 1016 }) }),
    );
  });
});
