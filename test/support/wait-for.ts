/** Waiting on a fact instead of on time; and, in the one place where tests may, on time. */
import { setTimeout as sleep } from 'node:timers/promises';

/** A probe may cost more than what it waits for: a statement on a connection of its own is 20 ms of two processors. */
const FIRST_POLL_MS = 10;
const LONGEST_POLL_MS = 50;

/**
 * Asks `probe` until it answers something other than undefined, and gives that back.
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
 * Lets time pass: for faults that last, for steps that come at random, and before looking whether something that must not
 * happen has happened. Never before something that can be waited for.
 */
export function pause<Value = void>(
  ms: number,
  value?: Value,
  options?: { readonly ref?: boolean; readonly signal?: AbortSignal },
): Promise<Value> {
  return sleep(ms, value as Value, options);
}
