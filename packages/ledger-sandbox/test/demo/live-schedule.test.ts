/** Tests the times of live updates: with a steady rate, and as usual with oscillation and pauses. */
import { describe, expect, it } from 'vitest';
import { LiveSchedule, type PeriodStart } from '../../src/demo/live-schedule.ts';

const second = 1_000_000;
const updates = 10_000;
const perSecond = 100;

/** Times between the updates of a schedule, seconds. */
function gapsOf(schedule: LiveSchedule): readonly number[] {
  return Array.from({ length: updates }, () => {
    const before = schedule.next;
    schedule.advance();
    return (schedule.next - before) / second;
  });
}

const scheduleOf = (isSteady: boolean): LiveSchedule =>
  new LiveSchedule(1, { after: 0, at: 0, perSecond, ...(isSteady ? { isSteady } : {}) } satisfies PeriodStart);

describe('live schedule', () => {
  it('has the mean rate without pauses if it is steady', () => {
    const gaps = gapsOf(scheduleOf(true));
    const total = gaps.reduce((sum, gap) => sum + gap, 0);
    expect(Math.abs(total - updates / perSecond)).toBeLessThan(1);
    expect(Math.max(...gaps)).toBeLessThan(2 / perSecond);
  });

  it('has pauses otherwise', () => {
    const gaps = gapsOf(scheduleOf(false));
    expect(Math.max(...gaps)).toBeGreaterThan(2);
  });

  it('stays steady after it was saved', () => {
    const original = scheduleOf(true);
    gapsOf(original);
    expect(gapsOf(LiveSchedule.loaded(1, original.save()))).toEqual(gapsOf(original));
  });
});
