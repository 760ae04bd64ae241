/** Waiting that ends early without an error. */
import { setTimeout as sleep } from 'node:timers/promises';

/** Waits; returns early, without error, when the signal is aborted. */
export async function pause(delayMs: number, signal?: AbortSignal): Promise<void> {
  await sleep(delayMs, undefined, signal && { signal }).catch(() => undefined);
}

/** Waits, and keeps no process alive that has nothing else to do. */
export async function elapsed(ms: number, signal?: AbortSignal): Promise<void> {
  await sleep(Math.max(0, ms), undefined, { ref: false, ...(signal && { signal }) }).catch(() => undefined);
}
