/**
 * A cache of recurring texts in frames. It finds a text by its bytes, at any position. While a text is cached, its
 * value is created only once.
 */
import { createHash } from 'node:crypto';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RecurringTexts, viewOf } from '../../../src/ledger/frames/recurring.ts';
import { expectProperty } from '../../support/chance/property.ts';

/** Creates a cache and a function that looks up a text within a longer buffer. */
function createLookup(maxBytes: number) {
  const madeTexts: string[] = [];
  const recurringTexts = new RecurringTexts((printedText) => {
    madeTexts.push(printedText);
    return { printed: printedText };
  }, maxBytes);
  const lookUp = (text: string, precedingText = ''): { readonly printed: string } => {
    const bytes = Buffer.from(`${precedingText}${text}"]}`);
    const start = Buffer.byteLength(precedingText);
    return recurringTexts.at(bytes, viewOf(bytes), start, start + Buffer.byteLength(text));
  };
  return { ask: lookUp, made: madeTexts };
}

describe('Recurring cache', () => {
  it('returns the same value for a text at every position, and creates the value once', () => {
    const similarText = fc.tuple(
      fc.constantFrom('', 'a', 'party::1220', 'ü'),
      fc.nat(40),
      fc.constantFrom('', 'x', 'yz'),
    );
    const text = similarText.map(([prefix, count, end]) => prefix + 'p'.repeat(count) + end);
    expectProperty(
      fc.property(fc.array(fc.tuple(text, fc.string({ maxLength: 9 })), { maxLength: 200 }), (lookups) => {
        const { ask: lookUp, made: madeTexts } = createLookup(1_000_000);
        const first = new Map<string, unknown>();
        for (const [printedText, precedingText] of lookups) {
          const secondLookup = lookUp(printedText, precedingText);
          expect(secondLookup.printed).toBe(printedText);
          if (first.has(printedText)) expect(secondLookup).toBe(first.get(printedText));
          first.set(printedText, secondLookup);
        }
        expect(madeTexts).toEqual([...new Set(lookups.map(([printedText]) => printedText))]);
      }),
      200,
    );
  });

  it('finds each of thousands of texts', () => {
    const { ask: lookUp, made: madeTexts } = createLookup(1_000_000);
    const texts = Array.from({ length: 5_000 }, (_, index) => `party-${String(index)}::1220`);
    for (const text of [...texts, ...texts]) expect(lookUp(text).printed).toBe(text);
    expect(madeTexts).toHaveLength(5_000);
  });

  /** Hashes have 32 bits, so about ten pairs of these texts have the same hash. */
  it('distinguishes texts that have the same hash', () => {
    const { ask: lookUp, made: madeTexts } = createLookup(100_000_000);
    for (let number = 0; number < 300_000; number += 1) {
      const text = createHash('md5').update(String(number)).digest('base64');
      if (lookUp(text).printed !== text) expect.unreachable(`asked for ${text}, found ${lookUp(text).printed}`);
    }
    expect(madeTexts).toHaveLength(300_000);
  });

  it('evicts texts when it is full, and creates evicted values again', () => {
    const { ask: lookUp, made: madeTexts } = createLookup(1_000);
    const texts = Array.from({ length: 300 }, (_, index) => `party-${String(index)}`);
    for (const text of [...texts, ...texts]) expect(lookUp(text).printed).toBe(text);
    expect(madeTexts.length).toBeGreaterThan(500);
    const secondLookup = lookUp('party-1');
    expect(lookUp('party-1')).toBe(secondLookup);
  });

  it('does not cache a text whose value cannot be created', () => {
    const recurringTexts = new RecurringTexts((printedText) => JSON.parse(printedText) as unknown, 1_000);
    const bytes = Buffer.from('[1');
    const lookUp = (): unknown => recurringTexts.at(bytes, viewOf(bytes), 0, 2);
    expect(lookUp).toThrow(SyntaxError);
    expect(lookUp).toThrow(SyntaxError);
  });
});
