/** Delays that an abort ends early, without an error. */
import { setTimeout as sleep } from 'node:timers/promises';

/** Waits. Returns early, without an error, when the signal is aborted. */
export async function pause(delayMs: number, signal?: AbortSignal): Promise<void> {
  await sleep(delayMs, undefined, signal && { signal }).catch(() => undefined);
}

/** Like {@link pause}, but does not keep the process alive. */
export async function elapsed(ms: number, signal?: AbortSignal): Promise<void> {
  await sleep(Math.max(0, ms), undefined, { ref: false, ...(signal && { signal }) }).catch(() => undefined);
}
