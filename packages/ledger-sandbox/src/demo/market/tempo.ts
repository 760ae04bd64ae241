/** Intervals of the regular events of the demo; compressed history has fewer of them. */

/** Gaps in microseconds. */
export interface Gaps {
  readonly roundGap: number;
  readonly installGap: number;
  readonly renewalGap: number;
}

/** The gaps at a time (microseconds since 1970). */
export type Tempo = (at: number) => Gaps;

const second = 1_000_000;
const hour = 3600 * second;

/** Rounds every ten minutes, as on the network; installs and renewals frequent enough to be watched. */
export const live: Gaps = { roundGap: 600 * second, installGap: 45 * second, renewalGap: 20 * second };

/** A month in a few thousand updates: rounds, installs and renewals are hours apart. */
const compressed: Gaps = { roundGap: 2 * hour, installGap: 15 * hour, renewalGap: 4 * hour };

/** The last day before the live traffic has all its rounds. */
const lastDay: Gaps = { roundGap: 600 * second, installGap: 8 * hour, renewalGap: 1 * hour };

/**
 * Gaps of a history that ends at `liveFrom` (microseconds since 1970) and of the live traffic after it.
 * @param thin factor by which the history has fewer rounds and renewals than a full one
 */
export function tempoBefore(liveFrom: number, thin = 1): Tempo {
  const thinned = (gaps: Gaps): Gaps => ({
    ...gaps,
    roundGap: gaps.roundGap * thin,
    renewalGap: gaps.renewalGap * thin,
  });
  const [early, late] = [thinned(compressed), thinned(lastDay)];
  return (at) => (at < liveFrom - 24 * hour ? early : at < liveFrom ? late : live);
}
