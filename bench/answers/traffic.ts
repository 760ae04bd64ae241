/** Rate and start of the traffic of a fill. */

/** Updates per second of ledger time: the rate of the demo. */
export const updatesPerSecond = 2.5;

/** Updates of the demo's month, as a share of the actions that are planned for it. */
const monthUpdates = { most: 7_600, share: 0.91 } as const;
/** Pauses of the traffic, as a share of its duration. */
const pauses = 0.02;
/** Updates per second that a fill is expected to reach. */
const expectedRate = 1_500;

/** The time at which live traffic must start so that its last update is made near the end of the fill. */
export function startOfTraffic(updates: number, nowMs: number): number {
  const live = updates - Math.min(monthUpdates.most, updates * monthUpdates.share);
  const spanMs = ((live * 1_000) / updatesPerSecond) * (1 + pauses);
  return Math.round(nowMs + (updates / expectedRate) * 1_000 - spanMs);
}
