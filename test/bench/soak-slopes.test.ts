/** Tests the analysis of the soak on series whose slope is known. */
import { describe, expect, it } from 'vitest';
import { fitSlope, segmentsOf, verdictOf, type Point } from '../../bench/soak/slopes.ts';
import { plannedFaults } from '../../bench/soak/faults.ts';
import { Random } from '../../packages/ledger-sandbox/src/wire/random.ts';

const plan = { blockSeconds: 300, warmUpSeconds: 600 };
const [sampleSeconds, pieceSeconds] = [10, 7_200];

/**
 * Samples of two hours: a level, a slope per hour, a ramp after the start, and noise that depends on the previous
 * value.
 */
function series(seed: number, { slope = 0, starts = [0] as readonly number[], noise = 4 } = {}): Point[] {
  const random = new Random(seed);
  let drift = 0;
  return Array.from({ length: pieceSeconds / sampleSeconds }, (_, index) => {
    const at = index * sampleSeconds;
    drift = 0.9 * drift + noise * (random.float() - 0.5);
    const age = at - Math.max(...starts.filter((start) => start <= at));
    // A new process has a level of its own.
    const level = 100 + 7 * starts.filter((start) => start <= at).length;
    return { at, value: level + (slope * at) / 3_600 + drift - 40 * Math.exp(-age / 60) };
  });
}

const slopeOf = (points: readonly Point[], starts: readonly number[] = []) =>
  fitSlope(segmentsOf(points, starts), plan);

describe('slopes of the soak', () => {
  it('are exact for a line without noise', () => {
    const points = Array.from({ length: 720 }, (_, index) => ({
      at: index * 10,
      value: 5 + index * 10 * (12 / 3_600),
    }));
    const slope = slopeOf(points);
    expect(slope?.perHour).toBeCloseTo(12, 6);
    expect(slope?.error).toBeCloseTo(0, 6);
    expect(slope).toMatchObject({ blocks: 21, segments: 1 });
  });

  it('have an interval that contains the true slope in about 95 of 100 noisy series', () => {
    const hits = Array.from({ length: 200 }, (_, seed) => slopeOf(series(seed + 1, { slope: 3 }))).filter(
      (slope) => slope !== undefined && Math.abs(slope.perHour - 3) <= slope.margin,
    );
    expect(hits.length).toBeGreaterThan(180);
    expect(hits.length).toBeLessThan(200);
  });

  it('detect a planted leak and accept a constant level', () => {
    const verdicts = (slope: number) =>
      Array.from({ length: 20 }, (_, seed) => verdictOf(slopeOf(series(seed + 1, { slope })), 5, plan));
    expect(new Set(verdicts(15))).toEqual(new Set(['grows']));
    expect(new Set(verdicts(0))).toEqual(new Set(['constant']));
  });

  it('do not take noise for growth', () => {
    const verdicts = Array.from({ length: 100 }, (_, seed) =>
      verdictOf(slopeOf(series(seed + 1, { noise: 40 })), 0, plan),
    );
    expect(verdicts.filter((verdict) => verdict === 'grows').length).toBeLessThan(10);
  });

  it('do not take the level of a restarted process for a slope', () => {
    const starts = [0, 1_700, 3_300, 5_100];
    const steps = series(3, { starts });
    expect(verdictOf(slopeOf(steps, starts), 5, { blockSeconds: 150, warmUpSeconds: 400 })).toBe('constant');
    expect(verdictOf(slopeOf(steps), 5, plan)).toBe('grows');
    const leak = series(3, { starts, slope: 30 });
    expect(verdictOf(fitSlope(segmentsOf(leak, starts), { blockSeconds: 150, warmUpSeconds: 400 }), 5, plan)).toBe(
      'grows',
    );
  });

  it('judge nothing from less than half an hour', () => {
    const points = series(1, { slope: 500 }).filter(({ at }) => at < 2_100);
    expect(verdictOf(slopeOf(points), 5, plan)).toBe('too short');
    expect(slopeOf(points.slice(0, 10))).toBeUndefined();
  });
});

describe('faults of the soak', () => {
  it('are the same for the same random seed, and include each kind in two hours', () => {
    const faults = plannedFaults(1, 1, 7_200);
    expect(plannedFaults(1, 1, 7_200)).toEqual(faults);
    expect(plannedFaults(1, 2, 7_200)).not.toEqual(faults);
    const kinds = faults.map(({ kind }) => kind);
    expect(new Set(kinds).size).toBe(5);
    const count = (name: string): number => kinds.filter((kind) => kind.startsWith(name)).length;
    expect([count('participant'), count('postgres'), count('indexer')]).toEqual([16, 10, 3]);
  });

  it('reach the indexer, the participant and Postgres in a piece of a minute', () => {
    const kinds = plannedFaults(1, 1, 60).map(({ kind }) => kind.split(' ')[0]);
    expect(new Set(kinds)).toEqual(new Set(['participant', 'postgres', 'indexer']));
  });
});
