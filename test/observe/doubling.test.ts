import { describe, expect, it } from 'vitest';
import { RepeatThrottle } from '../../src/observe/figures/doubling.ts';

describe('log of a repeated failure', () => {
  it('writes a line at once and then at doubling intervals, with the number of skipped lines', () => {
    const lines = new RepeatThrottle();
    const reports: (readonly [second: number, suppressed: number])[] = [];
    for (let second = 0; second < 24 * 3_600; second += 1) {
      const suppressed = lines.due('a', 1000 * second);
      if (suppressed !== undefined) reports.push([second, suppressed]);
    }
    expect(reports.slice(0, 5)).toEqual([
      [0, 0],
      [1, 0],
      [3, 1],
      [7, 3],
      [15, 7],
    ]);
    // One failure per second for a day: one line per ten minutes.
    expect(reports.length).toBeLessThan(160);
    expect(reports.at(-1)?.[1]).toBe(599);
  });

  it('counts lines per kind, and starts over after a success', () => {
    const lines = new RepeatThrottle();
    expect([lines.due('a', 0), lines.due('b', 0), lines.due('a', 1), lines.due('a', 2)]).toEqual([
      0,
      0,
      undefined,
      undefined,
    ]);
    lines.clear();
    expect(lines.due('a', 3)).toBe(0);
  });
});
