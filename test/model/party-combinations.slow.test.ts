/** Equal party sets have equal numbers, and new sets get ascending numbers, even after a lost session. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  PartyCombinations,
  rememberedBytes,
  maxCachedPartySets,
  sizeOf,
  type PartySet,
} from '../../src/model/party-combinations.ts';
import { expectProperty } from '../support/chance/property.ts';

/** Returns the same array for equal texts, as the frame reader does, or a new array each time. */
function sameLists(isSame: boolean): (list: readonly string[]) => readonly string[] {
  const knownLists = new Map<string, readonly string[]>();
  return (list) => {
    const key = JSON.stringify(list);
    if (!knownLists.has(key)) knownLists.set(key, list);
    return isSame ? (knownLists.get(key) ?? list) : [...list];
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
    const rememberedCount = maxCachedPartySets;
    const parties = fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 2 });
    expectProperty(
      fc.property(
        fc.array(fc.tuple(parties, parties, parties), { maxLength: 60 }),
        fc.nat(60),
        fc.boolean(),
        (inputs, splitIndex, isSame) => {
          const lists = sameLists(isSame);
          const storedCombinations: PartySet[] = [];
          let combinations = new PartyCombinations();
          const number = ([first, second, third]: (typeof inputs)[number]): void => {
            const combination = [lists(first), lists(second), lists(third)] as const;
            const recentLists = storedCombinations.slice(-rememberedCount);
            const matchingLists = recentLists.find(
              (candidateLists) => JSON.stringify(candidateLists.lists) === JSON.stringify(combination),
            )?.pk;
            expect(combinations.number(...combination)).toBe(matchingLists ?? storedCombinations.length + 1);
            storedCombinations.push(...combinations.takeAdded());
          };
          inputs.forEach(number);
          // Adds so many other sets that the next requests evict the earlier sets.
          for (let otherIndex = 0; otherIndex < rememberedCount - 5; otherIndex += 1)
            combinations.number([`other ${String(otherIndex)}`], [], []);
          storedCombinations.push(...combinations.takeAdded());
          inputs.toReversed().forEach(number);
          inputs.slice(0, splitIndex).forEach(number);
          combinations = new PartyCombinations({
            last: storedCombinations.length,
            newest: storedCombinations.slice(-rememberedCount),
          });
          inputs.slice(splitIndex).forEach(number);
        },
      ),
      10,
    );
  });

  it('caches party sets up to a size limit, even if a new session starts at any point', () => {
    const listArbitrary = fc.tuple(fc.constantFrom('a', 'b', 'c', 'd'), fc.constantFrom(1, 9_000, 30_000, 90_000));
    expectProperty(
      fc.property(fc.array(listArbitrary, { maxLength: 24 }), fc.nat(24), (inputs, splitIndex) => {
        const storedCombinations: PartySet[] = [];
        let combinations = new PartyCombinations();
        inputs.forEach(([text, length], index) => {
          if (index === splitIndex)
            combinations = new PartyCombinations({
              last: storedCombinations.length,
              newest: recentWithinLimit(storedCombinations),
            });
          const lists = [[], Array.from({ length }, () => text), [text]] as const;
          const matchingLists = recentWithinLimit(storedCombinations).find(
            (combination) => combination.lists[1].length === length && combination.lists[1][0] === text,
          );
          expect(combinations.number(...lists)).toBe(matchingLists?.pk ?? storedCombinations.length + 1);
          storedCombinations.push(...combinations.takeAdded());
        });
      }),
      10,
    );
  });
});

/** The newest sets whose total size is within the limit. */
function recentWithinLimit(storedCombinations: readonly PartySet[]): readonly PartySet[] {
  let size = 0;
  const first = storedCombinations.findLastIndex(({ lists }) => (size += sizeOf(lists)) > rememberedBytes);
  return storedCombinations.slice(first + 1);
}
