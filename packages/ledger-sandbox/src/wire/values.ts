/**
 * Numeric and time values in the participant's format. Numeric 10 is a text with ten digits after the point, and is
 * computed as a bigint in units of 10^-10. API timestamps are ISO-8601 UTC with 0, 3 or 6 fraction digits.
 */

const scale = 10n ** 10n;

/** A decimal text such as `999.99` in units of 10^-10; undefined if the text is not a Numeric 10. */
export function parseNumeric(text: string): bigint | undefined {
  const match = /^(-?)(\d{1,28})(?:\.(\d{1,10}))?$/.exec(text);
  if (match === null) return undefined;
  const units = BigInt(match[2] ?? '0') * scale + BigInt((match[3] ?? '').padEnd(10, '0'));
  return match[1] === '-' ? -units : units;
}

/** A number in units of 10^-10 as a text such as `999.9900000000`. */
export function formatNumeric(units: bigint): string {
  const sign = units < 0n ? '-' : '';
  const digits = (units < 0n ? -units : units).toString().padStart(11, '0');
  return `${sign}${digits.slice(0, -10)}.${digits.slice(-10)}`;
}

/** Microseconds since 1970 as an API timestamp: `…:50Z`, `…:50.100Z` or `…:50.319123Z`. */
export function formatTimestamp(micros: number): string {
  const millis = Math.floor(micros / 1000);
  const isoTime = new Date(millis).toISOString();
  const remainingMicros = Math.round(micros - millis * 1000);
  if (remainingMicros !== 0) return `${isoTime.slice(0, 23)}${String(remainingMicros).padStart(3, '0')}Z`;
  return millis % 1000 === 0 ? `${isoTime.slice(0, 19)}Z` : isoTime;
}
