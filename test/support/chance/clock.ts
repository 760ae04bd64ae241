/** Stops the clocks of this process, so that expectations of times hold on any machine. */
import { onTestFinished, vi } from 'vitest';

export interface StoppedClock {
  /** Advances `Date` and `performance.now`. Timers are real and take their own time. */
  advance(ms: number): void;
}

/** Stops `Date` and `performance.now` of this process until the test ends. */
export function stopClock(): StoppedClock {
  // Integer milliseconds: with fractions, a sum minus its first part may differ from the second part.
  const [wall, monotonic] = [Date.now(), Math.ceil(performance.now())];
  let passed = 0;
  vi.useFakeTimers({ toFake: ['Date'], now: wall });
  const spy = vi.spyOn(performance, 'now').mockImplementation(() => monotonic + passed);
  onTestFinished(() => {
    vi.useRealTimers();
    spy.mockRestore();
  });
  return {
    advance: (ms) => {
      passed += ms;
      vi.setSystemTime(wall + passed);
    },
  };
}
