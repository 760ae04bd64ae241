/**
 * A history of any length, which is generated at once: half a year of the demo's traffic, for example. Rounds open
 * further apart than on the network, and their prices change. The same options result in the same updates.
 */
import type { Ledger } from '../ledger/ledger.ts';
import { Random } from '../wire/random.ts';
import type { MarketOptions } from './market/market.ts';
import { gapsBefore } from './market/tempo.ts';
import { monthHours, playMonth, timesBefore } from './month.ts';
import { TrafficPlay } from './play.ts';
import { changingPrice } from './prices.ts';

export interface LongHistoryOptions {
  readonly seed: number;
  /** Time of the first update, milliseconds since 1970. */
  readonly startAt: number;
  /** End of the history, milliseconds since 1970. */
  readonly now: number;
  /** Approximate number of updates. Default 15,000. */
  readonly updates?: number;
}

const hourMs = 3_600_000;
/** Number of actions that users begin in the usual month. */
export const monthActions = 2_500;
/** Share of the updates that are actions of users. The others are their consequences, and rounds. */
const actionShare = 0.36;
const defaultUpdates = 15_000;

/** Length of a history, and the number of actions that users begin in it. */
export interface HistorySize {
  readonly hours: number;
  readonly planned: number;
}

/** The size of a history of about so many updates. */
export function sizeOf({ startAt, now, updates = defaultUpdates }: Omit<LongHistoryOptions, 'seed'>): HistorySize {
  return { hours: Math.max(1, Math.floor((now - startAt) / hourMs)), planned: Math.ceil(updates * actionShare) };
}

/**
 * The gaps of a history. The fewer actions an hour has, the fewer rounds it has.
 * @param end microseconds since 1970
 */
export function tempoOf({ hours, planned }: HistorySize, end: number): NonNullable<MarketOptions['tempo']> {
  return gapsBefore(end, (monthActions * hours) / (monthHours * planned));
}

/** Appends the history to an empty ledger. Returns the number of updates. */
export function generateLongHistory(ledger: Ledger, options: LongHistoryOptions): number {
  const { seed, now } = options;
  const size = sizeOf(options);
  const end = now * 1000;
  const play = new TrafficPlay(ledger, {
    seed,
    tempo: tempoOf(size, end),
    plans: { liveFrom: end },
    prices: changingPrice,
  });
  const times = timesBefore(end - 3_000_000, { hours: size.hours, count: size.planned }, new Random(seed + 2));
  return playMonth(play, times, end, Infinity);
}
