/** Waits until a condition is true. Only this file may contain waits for a fixed time. */
import { setTimeout as sleep } from 'node:timers/promises';

/** Pauses between probes. A probe can be expensive: a statement on a new connection takes 20 ms of CPU time. */
const FIRST_POLL_MS = 10;
const LONGEST_POLL_MS = 50;

/**
 * Calls `probe` until it returns a value other than undefined, and returns that value.
 * @param what the awaited condition, for the error message
 * @param limitMs time limit, 40 seconds by default, because a busy machine needs ten to start a process
 * @throws Error with `what` after the time limit; an error of the probe is thrown at once
 */
export async function waitFor<T>(
  what: string,
  probe: () => Promise<T | undefined> | T | undefined,
  limitMs = 40_000,
): Promise<T> {
  const begin = performance.now();
  for (;;) {
    const found = await probe();
    if (found !== undefined) return found;
    const waited = performance.now() - begin;
    if (waited > limitMs) throw new Error(`waited ${limitMs} ms in vain: ${what}`);
    await sleep(Math.min(FIRST_POLL_MS + waited / 10, LONGEST_POLL_MS));
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
