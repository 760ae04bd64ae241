/** The statement that moves the checkpoint. */
import { expect, it } from 'vitest';
import { checkpointStatement } from '../../src/store/write/stream-row.ts';

it.each([
  [
    'within one millisecond',
    ['2026-01-01T00:00:00.000001Z', '2026-01-01T00:00:00.000999Z', '2026-01-01T00:00:00.0005Z'],
    1,
  ],
  [
    'with different numbers of digits',
    ['2026-01-01T00:00:00Z', '2026-01-01T00:00:00.1Z', '2026-01-01T00:00:00.099999Z'],
    1,
  ],
] as const)('checkpointStatement() stores the newest of several record times %s', (_, times, newest) => {
  const recordTimes = new Map(times.map((time, index) => [`synchronizer-${String(index)}`, time]));
  const { values } = checkpointStatement({ epoch: 1, from: 1, to: 2, lastUpdate: undefined, recordTimes });
  expect(values).toContain(times[newest]);
});
