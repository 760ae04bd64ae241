/** Waiting on a fact instead of on time: the only way tests wait. */
import { setTimeout as sleep } from 'node:timers/promises';

const POLL_MS = 10;

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
  const end = performance.now() + limitMs;
  for (;;) {
    const found = await probe();
    if (found !== undefined) return found;
    if (performance.now() > end) throw new Error(`waited ${limitMs} ms in vain: ${what}`);
    await sleep(POLL_MS);
  }
}
