/** Equal party sets have equal numbers, and new sets get ascending numbers, even after a lost session. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  PartyCombinations,
  rememberedBytes,
  rememberedCombinations,
  sizeOf,
  type Combination,
} from '../../src/model/party-combinations.ts';
import { expectProperty } from '../support/chance/property.ts';

/** Returns the same array for equal texts, as the frame reader does, or a new array each time. */
function sameLists(same: boolean): (list: readonly string[]) => readonly string[] {
  const known = new Map<string, readonly string[]>();
  return (list) => {
    const key = JSON.stringify(list);
    if (!known.has(key)) known.set(key, list);
    return same ? (known.get(key) ?? list) : [...list];
  };
}

describe('PartyCombinations', () => {
  it('numbers party sets in order of first occurrence, even if sets are similar', () => {
    const combinations = new PartyCombinations();
    const inputs: readonly (readonly [string[], string[], string[]])[] = [
      [['a', 'b'], [], ['a']],
      [['a'], ['b'], ['a']],
      [['a', 'b'], ['a'], []],
      [['ab'], [], ['a']],
      [[], [], []],
      [['a', 'b'], [], ['a']],
      [['b', 'a'], [], ['a']],
    ];
    expect(inputs.map((lists) => combinations.number(...lists))).toEqual([1, 2, 3, 4, 5, 1, 6]);
    expect(combinations.takeAdded().map(({ pk }) => pk)).toEqual([1, 2, 3, 4, 5, 6]);
    expect(combinations.takeAdded()).toEqual([]);
  });

  it('matches a reference model, even if a new session starts at any point', () => {
    const remembered = rememberedCombinations;
    const parties = fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 2 });
    expectProperty(
      fc.property(
        fc.array(fc.tuple(parties, parties, parties), { maxLength: 60 }),
        fc.nat(60),
        fc.boolean(),
        (inputs, cut, same) => {
          const lists = sameLists(same);
          const stored: Combination[] = [];
          let combinations = new PartyCombinations();
          const number = ([first, second, third]: (typeof inputs)[number]): void => {
            const combination = [lists(first), lists(second), lists(third)] as const;
            const kept = stored.slice(-remembered);
            const known = kept.find((one) => JSON.stringify(one.lists) === JSON.stringify(combination))?.pk;
            expect(combinations.number(...combination)).toBe(known ?? stored.length + 1);
            stored.push(...combinations.takeAdded());
          };
          inputs.forEach(number);
          // Adds so many other sets that the next requests evict the earlier sets.
          for (let other = 0; other < remembered - 5; other += 1)
            combinations.number([`other ${String(other)}`], [], []);
          stored.push(...combinations.takeAdded());
          inputs.toReversed().forEach(number);
          inputs.slice(0, cut).forEach(number);
          combinations = new PartyCombinations({ last: stored.length, newest: stored.slice(-remembered) });
          inputs.slice(cut).forEach(number);
        },
      ),
      10,
    );
  });

  it('caches party sets up to a size limit, even if a new session starts at any point', () => {
    const long = fc.tuple(fc.constantFrom('a', 'b', 'c', 'd'), fc.constantFrom(1, 9_000, 30_000, 90_000));
    expectProperty(
      fc.property(fc.array(long, { maxLength: 24 }), fc.nat(24), (inputs, cut) => {
        const stored: Combination[] = [];
        let combinations = new PartyCombinations();
        inputs.forEach(([text, length], index) => {
          if (index === cut)
            combinations = new PartyCombinations({ last: stored.length, newest: newestThatFit(stored) });
          const lists = [[], Array.from({ length }, () => text), [text]] as const;
          const known = newestThatFit(stored).find((one) => one.lists[1].length === length && one.lists[1][0] === text);
          expect(combinations.number(...lists)).toBe(known?.pk ?? stored.length + 1);
          stored.push(...combinations.takeAdded());
        });
      }),
      10,
    );
  });
});

/** The newest sets whose total size is within the limit. */
function newestThatFit(stored: readonly Combination[]): readonly Combination[] {
  let size = 0;
  const first = stored.findLastIndex(({ lists }) => (size += sizeOf(lists)) > rememberedBytes);
  return stored.slice(first + 1);
}
