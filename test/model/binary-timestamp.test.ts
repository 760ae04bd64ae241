/** Timestamps of the ledger in the binary format of Postgres. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { postgresMicroseconds } from '../../src/model/binary-timestamp.ts';
import { expectProperty } from '../support/chance/property.ts';

const epoch = Date.UTC(2000, 0, 1);

describe('postgresMicroseconds()', () => {
  it.each([
    ['2000-01-01T00:00:00Z', 0],
    ['2000-01-01T00:00:00.000001Z', 1],
    ['1999-12-31T23:59:59.999999Z', -1],
    ['1970-01-01T00:01:00Z', -946_684_740_000_000],
    ['2026-08-14T10:51:04.3Z', 840_019_864_300_000],
    ['2026-08-14T10:51:04.319123456Z', 840_019_864_319_123],
    ['2026-08-14T10:51:04.9999996Z', 840_019_865_000_000],
    ['2024-02-29T00:00:00.000000Z', 762_480_000_000_000],
    ['9999-12-31T23:59:59.999999Z', 252_455_615_999_999_999n],
  ])('converts %s to %s', (text, expected) => {
    expect(postgresMicroseconds(text)).toBe(expected);
  });

  it.each([
    '',
    'garbage',
    '2026-02-30T00:00:00.000000Z',
    '2026-13-01T00:00:00.000000Z',
    '2026-01-01T24:00:00.000000Z',
    '2026-01-01T00:60:00.000000Z',
    '2026-01-01T00:00:61.000000Z',
    '2026-01-01T00:00:00.0000x0Z',
    '2026-01-01 00:00:00.000000Z',
    '2026-01-01T00-00:00.000000Z',
    '2026-01-01T00:00:00.000000z',
    '2026-01-01T00:00:00+01:00',
    '2026-01-01T00:00:00.Z',
  ])('rejects "%s"', (text) => {
    expect(postgresMicroseconds(text)).toBeUndefined();
  });

  it('matches JavaScript dates for any millisecond and any fraction digits', () => {
    const milliseconds = fc.integer({ min: Date.UTC(1900, 0, 1), max: Date.UTC(2284, 0, 1) });
    expectProperty(
      fc.property(milliseconds, fc.integer({ min: 0, max: 999 }), (time, micros) => {
        const text = `${new Date(time).toISOString().slice(0, -1)}${String(micros).padStart(3, '0')}Z`;
        expect(postgresMicroseconds(text)).toBe((time - epoch) * 1000 + micros);
        expect(postgresMicroseconds(text.replace('Z', '000Z'))).toBe((time - epoch) * 1000 + micros);
      }),
    );
  });
});
