/**
 * A cache of recurring texts in frames. It finds a text by its bytes, at any position. While a text is cached, its
 * value is created only once.
 */
import { createHash } from 'node:crypto';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Recurring, viewOf } from '../../../src/ledger/frames/recurring.ts';
import { expectProperty } from '../../support/chance/property.ts';

/** Creates a cache and a function that looks up a text within a longer buffer. */
function createLookup(mostBytes: number) {
  const made: string[] = [];
  const recurring = new Recurring((printed) => {
    made.push(printed);
    return { printed };
  }, mostBytes);
  const ask = (text: string, before = ''): { readonly printed: string } => {
    const bytes = Buffer.from(`${before}${text}"]}`);
    const start = Buffer.byteLength(before);
    return recurring.at(bytes, viewOf(bytes), start, start + Buffer.byteLength(text));
  };
  return { ask, made };
}

describe('Recurring cache', () => {
  it('returns the same value for a text at every position, and creates the value once', () => {
    const alike = fc.tuple(fc.constantFrom('', 'a', 'party::1220', 'ü'), fc.nat(40), fc.constantFrom('', 'x', 'yz'));
    const text = alike.map(([begin, count, end]) => begin + 'p'.repeat(count) + end);
    expectProperty(
      fc.property(fc.array(fc.tuple(text, fc.string({ maxLength: 9 })), { maxLength: 200 }), (lookups) => {
        const { ask, made } = createLookup(1_000_000);
        const first = new Map<string, unknown>();
        for (const [printed, before] of lookups) {
          const found = ask(printed, before);
          expect(found.printed).toBe(printed);
          if (first.has(printed)) expect(found).toBe(first.get(printed));
          first.set(printed, found);
        }
        expect(made).toEqual([...new Set(lookups.map(([printed]) => printed))]);
      }),
      200,
    );
  });

  it('finds each of thousands of texts', () => {
    const { ask, made } = createLookup(1_000_000);
    const texts = Array.from({ length: 5_000 }, (_, index) => `party-${String(index)}::1220`);
    for (const text of [...texts, ...texts]) expect(ask(text).printed).toBe(text);
    expect(made).toHaveLength(5_000);
  });

  /** Hashes have 32 bits, so about ten pairs of these texts have the same hash. */
  it('distinguishes texts that have the same hash', () => {
    const { ask, made } = createLookup(100_000_000);
    for (let number = 0; number < 300_000; number += 1) {
      const text = createHash('md5').update(String(number)).digest('base64');
      if (ask(text).printed !== text) expect.unreachable(`asked for ${text}, found ${ask(text).printed}`);
    }
    expect(made).toHaveLength(300_000);
  });

  it('evicts texts when it is full, and creates evicted values again', () => {
    const { ask, made } = createLookup(1_000);
    const texts = Array.from({ length: 300 }, (_, index) => `party-${String(index)}`);
    for (const text of [...texts, ...texts]) expect(ask(text).printed).toBe(text);
    expect(made.length).toBeGreaterThan(500);
    const again = ask('party-1');
    expect(ask('party-1')).toBe(again);
  });

  it('does not cache a text whose value cannot be created', () => {
    const recurring = new Recurring((printed) => JSON.parse(printed) as unknown, 1_000);
    const bytes = Buffer.from('[1');
    const ask = (): unknown => recurring.at(bytes, viewOf(bytes), 0, 2);
    expect(ask).toThrow(SyntaxError);
    expect(ask).toThrow(SyntaxError);
  });
});
