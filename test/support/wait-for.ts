/** Waits for a fact instead of a time; and, in the only place where tests may, for a time. */
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * A probe may cost more than the awaited event: a statement on a connection of its own takes 20 ms of two processors.
 */
const FIRST_POLL_MS = 10;
const LONGEST_POLL_MS = 50;

/**
 * Calls `probe` until it returns a value other than undefined, and returns that value.
 * @param what the fact waited for, for the error message
 * @param limitMs how long to wait at most, 40 seconds by default: a busy machine starts a process in ten
 * @throws Error naming `what` when the limit has passed; an error of the probe is passed on at once
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
 * Lets time pass: for faults that last, for steps that come at random, and before looking whether something that must
 * not happen has happened. Never before something that can be waited for.
 */
export function pause<Value = void>(
  ms: number,
  value?: Value,
  options?: { readonly ref?: boolean; readonly signal?: AbortSignal },
): Promise<Value> {
  return sleep(ms, value as Value, options);
}
