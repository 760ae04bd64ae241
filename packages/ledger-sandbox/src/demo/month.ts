/**
 * A month of history in a few thousand updates, or a longer one, with the record time of each. Few updates are at
 * night, and many in the last hours.
 */
import type { Random } from '../wire/random.ts';
import type { TrafficPlay } from './play.ts';

const second = 1_000_000;
const hour = 3600 * second;
/** Length of the usual history. */
export const monthHours = 30 * 24;
/** The last day and the last two hours have more than their share of updates, because a new user reads them first. */
const lastDay = 3;
const lastHours = 12;

/** Activity in an hour of the day (UTC); the mean is 1. */
function waveFactor(at: number): number {
  const hourOfDay = (at / hour) % 24;
  return 1 + 0.7 * Math.sin((2 * Math.PI * (hourOfDay - 9)) / 24);
}

function weightOf(index: number, hours: number, at: number): number {
  const recentWeight = index >= hours - 2 ? lastHours : index >= hours - 24 ? lastDay : 1;
  return waveFactor(at) * (0.5 + index / hours) * recentWeight;
}

/** `count` times in the month before `end`, ascending. Microseconds since 1970. */
export function monthBefore(end: number, count: number, random: Random): number[] {
  return timesBefore(end, { hours: monthHours, count }, random);
}

/** The same for any number of hours before `end`. */
export function timesBefore(
  end: number,
  { hours, count }: { readonly hours: number; readonly count: number },
  random: Random,
): number[] {
  const startTime = end - hours * hour;
  const weights = Array.from({ length: hours }, (_, index) => weightOf(index, hours, startTime + index * hour));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const times: number[] = [];
  let dueUpdates = 0;
  for (const [index, weight] of weights.entries()) {
    dueUpdates += (count * weight) / total;
    for (; dueUpdates >= 1; dueUpdates -= 1) times.push(startTime + index * hour + Math.floor(random.float() * hour));
  }
  return times.sort((a, b) => a - b);
}

/**
 * Replays the month before `end`: users act at these times, and the consequences follow at their own times.
 * @param maxUpdates maximum number of updates
 * @returns the number of updates
 */
export function playMonth(play: TrafficPlay, times: readonly number[], end: number, maxUpdates: number): number {
  let stepCount = 0;
  const countDueUntil = (untilOffset: number): void => {
    for (
      let at = play.market.nextAt;
      at !== undefined && at <= untilOffset && stepCount < maxUpdates;
      at = play.market.nextAt
    ) {
      play.stepRecordedAt(at + 2 * second);
      stepCount += 1;
    }
  };
  for (const time of times) {
    countDueUntil(time);
    if (stepCount >= maxUpdates) return stepCount;
    play.stepRecordedAt(time);
    stepCount += 1;
  }
  countDueUntil(end - 3 * second);
  return stepCount;
}
