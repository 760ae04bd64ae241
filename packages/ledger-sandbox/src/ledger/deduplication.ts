/**
 * Deduplication periods: how far back a participant searches for an accepted submission of the same change, by duration
 * or by offset. If a submission names no period, it searches as far back as possible, which is 168 hours.
 */
import { failure } from '../wire/failure.ts';
import { asObject } from '../wire/json.ts';
import type { Json, JsonObject } from '../wire/json.ts';

/** The longest period in seconds, and the default of submissions that name none. */
export const longestSeconds = 168 * 3600;

export type DeduplicationPeriod =
  | { readonly kind: 'duration'; readonly seconds: number; readonly nanos: number }
  /** The offset is exclusive. */
  | { readonly kind: 'offset'; readonly offset: number };

export const longestPeriod: DeduplicationPeriod = { kind: 'duration', seconds: longestSeconds, nanos: 0 };

function invalidPeriod(reason: string, context: Readonly<Record<string, string>>): never {
  const cause = `The submitted command had an invalid deduplication period: ${reason}`;
  throw failure({ code: 'INVALID_DEDUPLICATION_PERIOD', category: 9, cause, context });
}

function duration(value: JsonObject): DeduplicationPeriod {
  const { seconds, nanos } = value;
  const wholeSeconds = typeof seconds === 'number' ? seconds : 0;
  const fractionNanos = typeof nanos === 'number' ? nanos : 0;
  const longestDuration = { longest_duration: 'PT168H' };
  if (wholeSeconds < 0 || fractionNanos < 0) invalidPeriod('the duration is negative', longestDuration);
  if (wholeSeconds > longestSeconds || (wholeSeconds === longestSeconds && fractionNanos > 0)) {
    invalidPeriod(`the duration ${durationText(wholeSeconds)} exceeds the longest duration PT168H`, longestDuration);
  }
  return { kind: 'duration', seconds: wholeSeconds, nanos: fractionNanos };
}

/** A `deduplicationPeriod` of a request. Throws INVALID_DEDUPLICATION_PERIOD. @param prunedOffset the pruned offset */
export function parseDeduplication(value: Json | undefined, prunedOffset: number): DeduplicationPeriod {
  const period = asObject(value);
  const durationPeriod = asObject(asObject(period?.['DeduplicationDuration'])?.['value']);
  if (durationPeriod !== undefined) return duration(durationPeriod);
  const offset = asObject(period?.['DeduplicationOffset'])?.['value'];
  if (typeof offset !== 'number') return longestPeriod;
  if (offset < prunedOffset) {
    invalidPeriod(`the offset ${offset} precedes the pruned offset ${prunedOffset}`, {
      earliest_offset: String(prunedOffset),
    });
  }
  return { kind: 'offset', offset };
}

/** Whether a period that ends now includes the offset and time (microseconds since 1970) of a submission. */
export function isWithinHistory(
  period: DeduplicationPeriod,
  pastPeriod: { readonly offset: number; readonly at: number },
  now: number,
): boolean {
  if (period.kind === 'offset') return pastPeriod.offset > period.offset;
  return pastPeriod.at >= now - (period.seconds * 1_000_000 + period.nanos / 1000);
}

/** A duration as ISO-8601 with hours as the largest unit: `PT168H`, `PT30S`, `PT1H1M1S`. */
function durationText(seconds: number): string {
  const units = [
    [Math.floor(seconds / 3600), 'H'],
    [Math.floor((seconds % 3600) / 60), 'M'],
    [seconds % 60, 'S'],
  ] as const;
  const text = units.map(([count, unit]) => (count === 0 ? '' : `${count}${unit}`)).join('');
  return `PT${text === '' ? '0S' : text}`;
}

/** The period in the form of the context of a refusal: `{duration: 'PT168H'}`. */
export function deduplicationText(period: DeduplicationPeriod): string {
  return period.kind === 'offset'
    ? `{offset: ${period.offset}}`
    : `{duration: '${durationText(period.seconds + period.nanos / 1e9)}'}`;
}
