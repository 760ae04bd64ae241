/** Stops the clocks of this process, so that tests of times do not depend on the speed of the machine. */
import { onTestFinished, vi } from 'vitest';

export interface StoppedClock {
  /** Advances `Date` and `performance.now`. Timers are not changed and still run in real time. */
  advance(ms: number): void;
}

/** Stops `Date` and `performance.now` of this process until the test ends. */
export function stopClock(): StoppedClock {
  // Milliseconds are integers, because sums of fractions are rounded.
  const [wallClockMs, monotonic] = [Date.now(), Math.ceil(performance.now())];
  let elapsedMs = 0;
  vi.useFakeTimers({ toFake: ['Date'], now: wallClockMs });
  const clockSpy = vi.spyOn(performance, 'now').mockImplementation(() => monotonic + elapsedMs);
  onTestFinished(() => {
    vi.useRealTimers();
    clockSpy.mockRestore();
  });
  return {
    advance: (ms) => {
      elapsedMs += ms;
      vi.setSystemTime(wallClockMs + elapsedMs);
    },
  };
}
