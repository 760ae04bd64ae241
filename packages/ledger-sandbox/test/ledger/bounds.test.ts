/** In a long run, data that is pruned or too old to be needed is removed from memory. */
import { describe, expect, it } from 'vitest';
import { Completions } from '../../src/ledger/completions.ts';
import { longestPeriod } from '../../src/ledger/deduplication.ts';

const day = 24 * 3600 * 1_000_000;

function completion(offset: number, at: number, externalHash: string): Parameters<Completions['add']>[0] {
  const change = { userId: 'u', actAs: ['alice'], commandId: `c${offset}`, submissionId: 's', externalHash };
  const facts = { synchronizerId: '', recordTime: '', traceContext: null, paidTrafficCost: 0, updateId: 'x' };
  return { ...change, deduplication: longestPeriod, offset, at, refusal: undefined, ...facts };
}

describe('completions', () => {
  it('are compared with later submissions for a week after they were pruned, not forever', () => {
    const completions = new Completions();
    const first = completion(1, 0, 'aa');
    completions.add(first);
    completions.add(completion(2, 6 * day, 'bb'));
    completions.prune(1);
    expect(completions.duplicateOf(first, 6 * day)).toMatchObject(first);
    completions.add(completion(3, 8 * day, 'cc'));
    completions.prune(2);
    expect(completions.duplicateOf(first, 8 * day)).toBeUndefined();
  });

  it('are found by offset', () => {
    const completions = new Completions();
    for (const offset of [2, 3, 5, 8, 13]) completions.add(completion(offset, offset, String(offset)));
    const offsets = (beginOffset: number, end: number, limit = 9): number[] =>
      completions.range(beginOffset, end, limit).map((listedCompletion) => listedCompletion.offset);
    expect([offsets(0, 99), offsets(2, 8), offsets(3, 4), offsets(13, 99), offsets(0, 99, 2)]).toEqual([
      [2, 3, 5, 8, 13],
      [3, 5, 8],
      [],
      [],
      [2, 3],
    ]);
  });
});
