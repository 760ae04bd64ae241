/** What the drawings rely on: units, ticks, and a picture that stays the same when it is made small. */
import { deflateSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { smallPng } from '../../scripts/dashboards/picture/small-png.ts';
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
])('%s in %s', (value, unit, decimals, text) => {
  expect(formatted(value, unit, decimals)).toBe(text);
});

it('puts ticks on round numbers, also in units of 1024', () => {
  expect(ticks(0, 87, 4)).toEqual([0, 50, 100]);
  expect(ticks(0, 3 * 1024, 3, 1024)).toEqual([0, 1024, 2048, 3072]);
  expect(timeTicks(0, 60_000, 4).map(({ label }) => label)).toEqual([
    '00:00:00',
    '00:00:15',
    '00:00:30',
    '00:00:45',
    '00:01:00',
  ]);
});

/** A PNG of 8-bit RGB, its second row by differences to the first (filter 2). */
function tiny(): Buffer {
  const part = (type: string, data: Buffer): Buffer => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(data.length);
    return Buffer.concat([length, Buffer.from(type, 'latin1'), data, Buffer.alloc(4)]);
  };
  const header = Buffer.from([0, 0, 0, 2, 0, 0, 0, 2, 8, 2, 0, 0, 0]);
  const rows = Buffer.from([0, 255, 0, 0, 0, 255, 0, 2, 0, 0, 0, 0, 0, 255]);
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return Buffer.concat([
    signature,
    part('IHDR', header),
    part('IDAT', deflateSync(rows)),
    part('IEND', Buffer.alloc(0)),
  ]);
}

it('makes a picture small without changing its colours', () => {
  const small = smallPng(tiny());
  const palette = small.subarray(small.indexOf('PLTE') + 4);
  expect(small.subarray(small.indexOf('IHDR') + 4).subarray(0, 10)).toEqual(
    Buffer.from([0, 0, 0, 2, 0, 0, 0, 2, 8, 3]),
  );
  // Red twice, then green and cyan, each once.
  const colours = new Set([0, 3, 6].map((at) => palette.subarray(at, at + 3).toString('hex')));
  expect(colours).toEqual(new Set(['ff0000', '00ff00', '00ffff']));
  expect(() => smallPng(Buffer.from('no picture'))).toThrow('PNG');
});
