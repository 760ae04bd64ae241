/** Units and axis ticks of the rendered panels. */
import { expect, it } from 'vitest';
import { ticks, timeTicks } from '../../scripts/dashboards/picture/svg.ts';
import { formatted } from '../../scripts/dashboards/picture/units.ts';

it.each([
  [0.0125, 's', undefined, '12.5 ms'],
  [90, 's', undefined, '1.5 min'],
  [172_800, 's', undefined, '2 days'],
  [1_536, 'bytes', undefined, '1.5 KiB'],
  [1_234_567, 'short', undefined, '1.23 Mil'],
  [12_626, 'locale', undefined, '12,626'],
  [0.045, 'percentunit', 1, '4.5%'],
  [3, 'ops', undefined, '3 ops/s'],
  [null, 's', undefined, ''],
])('formatted() returns the value with its unit: %s in %s', (value, unit, decimals, text) => {
  expect(formatted(value, unit, decimals)).toBe(text);
});

it('ticks() and timeTicks() return round numbers, also in units of 1024', () => {
  expect(ticks(0, 87, 4)).toEqual([0, 50, 100]);
  expect(ticks(0, 3 * 1024, 3, 1024)).toEqual([0, 1024, 2048, 3072]);
  expect(timeTicks(0, 60_000, 4).map(({ label: tickLabel }) => tickLabel)).toEqual([
    '00:00:00',
    '00:00:15',
    '00:00:30',
    '00:00:45',
    '00:01:00',
  ]);
});
