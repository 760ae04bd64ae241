import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DecimalSum, roundDecimal } from '../../src/store/reads/decimal.ts';
import { expectProperty } from '../support/chance/property.ts';

/** A number of units of 10^-places as text. */
function textOf(units: bigint, places: number): string {
  const digits = String(units < 0n ? -units : units).padStart(places + 1, '0');
  const [integer, fraction] = [digits.slice(0, digits.length - places), digits.slice(digits.length - places)];
  return `${units < 0n ? '-' : ''}${integer}${places === 0 ? '' : `.${fraction}`}`;
}

describe('DecimalSum', () => {
  it('equals the sum of the units, for numbers with any number of decimal places', () => {
    const term = fc.record({ units: fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n }), places: fc.nat(10) });
    expectProperty(
      fc.property(fc.array(term), (terms) => {
        const sum = new DecimalSum();
        for (const { units, places } of terms) sum.add(textOf(units, places));
        const total = terms.reduce((units, term) => units + term.units * 10n ** BigInt(10 - term.places), 0n);
        const text = textOf(total, 10).replace(/\.?0+$/, '');
        expect(sum.toString()).toBe(text === '-' || text === '' ? '0' : text);
      }),
    );
  });
});

describe('roundDecimal', () => {
  it.each([
    ['0.005', '0.01'],
    ['-0.004', '0.00'],
    ['-1.995', '-2.00'],
    ['12', '12.00'],
    ['99999999999999999999.999', '100000000000000000000.00'],
  ])('rounds %s to %s', (text, rounded) => {
    expect(roundDecimal(text, 2)).toBe(rounded);
  });
});
