/** The clocks of this process, stopped: expectations of time then hold on any machine. */
import { onTestFinished, vi } from 'vitest';

export interface StoppedClock {
  /** Moves `Date` and `performance.now` on. Timers are real and take their own time. */
  advance(ms: number): void;
}

/** Stops `Date` and `performance.now` of this process until the test ends. */
export function stopClock(): StoppedClock {
  // In integer milliseconds: a sum with a fraction, less its first part, is not always the second one.
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
