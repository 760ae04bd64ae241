/** Intervals of the regular events of the demo. In compressed history, these events are less frequent. */

/** Gaps in microseconds. */
export interface Gaps {
  readonly roundGap: number;
  readonly installGap: number;
  readonly renewalGap: number;
}

/** The gaps at a time (microseconds since 1970). */
export type GapSchedule = (at: number) => Gaps;

const second = 1_000_000;
const hour = 3600 * second;

/** Rounds open every ten minutes, as on the network. Installs and renewals are frequent enough to be observed. */
export const liveGaps: Gaps = { roundGap: 600 * second, installGap: 45 * second, renewalGap: 20 * second };

/** The month has only a few thousand updates, so rounds, installs and renewals are hours apart. */
const compressed: Gaps = { roundGap: 2 * hour, installGap: 15 * hour, renewalGap: 4 * hour };

/** On the last day before the live traffic, all rounds open. */
const lastDay: Gaps = { roundGap: 600 * second, installGap: 8 * hour, renewalGap: 1 * hour };

/**
 * Gaps of a history that ends at `liveFrom` (microseconds since 1970) and of the live traffic after it.
 * @param factor factor by which the history has fewer rounds and renewals than usual
 */
export function gapsBefore(liveFrom: number, factor = 1): GapSchedule {
  const scaleGaps = (gaps: Gaps): Gaps => ({
    ...gaps,
    roundGap: gaps.roundGap * factor,
    renewalGap: gaps.renewalGap * factor,
  });
  const [earlyGaps, lateGaps] = [scaleGaps(compressed), scaleGaps(lastDay)];
  return (at) => (at < liveFrom - 24 * hour ? earlyGaps : at < liveFrom ? lateGaps : liveGaps);
}
