/** The statement that moves the checkpoint. */
import { expect, it } from 'vitest';
import { checkpointStatement } from '../../src/store/write/stream-row.ts';

it.each([
  [
    'within one millisecond',
    ['2026-01-01T00:00:00.000001Z', '2026-01-01T00:00:00.000999Z', '2026-01-01T00:00:00.0005Z'],
    1,
  ],
  ['with fewer digits', ['2026-01-01T00:00:00Z', '2026-01-01T00:00:00.1Z', '2026-01-01T00:00:00.099999Z'], 1],
] as const)('the checkpoint update stores the newest record time of several synchronizers, %s', (_, times, newest) => {
  const recordTimes = new Map(times.map((time, index) => [`synchronizer-${String(index)}`, time]));
  const { values } = checkpointStatement({ epoch: 1, from: 1, to: 2, lastUpdate: undefined, recordTimes });
  expect(values).toContain(times[newest]);
});
