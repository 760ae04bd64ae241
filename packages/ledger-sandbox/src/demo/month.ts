/**
 * A month of history in a few thousand updates, with the record time of each. Few updates are at night, and many in the
 * last hours.
 */
import type { Random } from '../wire/random.ts';
import type { Play } from './play.ts';

const second = 1_000_000;
const hour = 3600 * second;
const hours = 30 * 24;
/** The last day and the last two hours have more than their share of updates, because a new user reads them first. */
const lastDay = 3;
const lastHours = 12;

/** Activity in an hour of the day (UTC); the mean is 1. */
function wave(at: number): number {
  const hourOfDay = (at / hour) % 24;
  return 1 + 0.7 * Math.sin((2 * Math.PI * (hourOfDay - 9)) / 24);
}

function weightOf(index: number, at: number): number {
  const recent = index >= hours - 2 ? lastHours : index >= hours - 24 ? lastDay : 1;
  return wave(at) * (0.5 + index / hours) * recent;
}

/** `count` times in the month before `end`, ascending. Microseconds since 1970. */
export function monthBefore(end: number, count: number, random: Random): number[] {
  const begin = end - hours * hour;
  const weights = Array.from({ length: hours }, (_, index) => weightOf(index, begin + index * hour));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const times: number[] = [];
  let owed = 0;
  for (const [index, weight] of weights.entries()) {
    owed += (count * weight) / total;
    for (; owed >= 1; owed -= 1) times.push(begin + index * hour + Math.floor(random.float() * hour));
  }
  return times.sort((a, b) => a - b);
}

/**
 * Replays the month before `end`: users act at these times, and the consequences follow at their own times.
 * @param most maximum number of updates
 * @returns the number of updates
 */
export function playMonth(play: Play, times: readonly number[], end: number, most: number): number {
  let done = 0;
  const dueUntil = (until: number): void => {
    for (let at = play.market.nextAt; at !== undefined && at <= until && done < most; at = play.market.nextAt) {
      play.stepRecordedAt(at + 2 * second);
      done += 1;
    }
  };
  for (const time of times) {
    dueUntil(time);
    if (done >= most) return done;
    play.stepRecordedAt(time);
    done += 1;
  }
  dueUntil(end - 3 * second);
  return done;
}
