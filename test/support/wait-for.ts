/** Waits until a condition is true. Only this file may contain waits for a fixed time. */
import { setTimeout as sleep } from 'node:timers/promises';

/** Pauses between probes. A probe can be expensive: a statement on a new connection takes 20 ms of CPU time. */
const FIRST_POLL_MS = 10;
const LONGEST_POLL_MS = 50;

/**
 * Calls `probe` until it returns a value other than undefined, and returns that value.
 * @param subject the awaited condition, for the error message
 * @param limitMs time limit, 40 seconds by default, because a busy machine needs ten to start a process
 * @throws Error with `subject` after the time limit; an error of the probe is thrown at once
 */
export async function waitFor<T>(
  subject: string,
  probe: () => Promise<T | undefined> | T | undefined,
  limitMs = 40_000,
): Promise<T> {
  const startMs = performance.now();
  for (;;) {
    const probed = await probe();
    if (probed !== undefined) return probed;
    const elapsedMs = performance.now() - startMs;
    if (elapsedMs > limitMs) throw new Error(`waited ${limitMs} ms in vain: ${subject}`);
    await sleep(Math.min(FIRST_POLL_MS + elapsedMs / 10, LONGEST_POLL_MS));
  }
}

/**
 * Waits for a fixed time. Used for long faults, for steps at random times, and before a check that something has not
 * happened. Must not be used if the test can wait for an event.
 */
export function pause<Value = void>(
  ms: number,
  value?: Value,
  options?: { readonly ref?: boolean; readonly signal?: AbortSignal },
): Promise<Value> {
  return sleep(ms, value as Value, options);
}
