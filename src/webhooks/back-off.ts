/** Delay after a failed delivery. */

const firstMs = 250;
export const maxDelayMs = 15 * 60_000;

/**
 * Delays double from a quarter of a second to a quarter of an hour. Their upper half is random, so that deliveries that
 * failed together are not sent together again. A delay is never shorter than the receiver requested.
 * @param failures number of consecutive failures, from 1
 * @param random uniform in [0, 1)
 */
export function backoffMs(failures: number, retryAfterMs: number | undefined, random: number): number {
  const maxPauseMs = Math.min(maxDelayMs, firstMs * 2 ** Math.min(failures - 1, 30));
  return Math.round(Math.max(maxPauseMs * (0.5 + random / 2), (retryAfterMs ?? 0) * (1 + random / 10)));
}
