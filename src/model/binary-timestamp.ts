/** Timestamps of the ledger (ISO-8601, UTC, 0 to 9 fraction digits) as Postgres counts them: microseconds since 2000. */

const form = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?Z$/;
const epochSeconds = Date.UTC(2000, 0, 1) / 1000;
const zero = 0x30;

/** The last day seen and its first second: a stream moves through time slowly. */
let day = '';
let daySeconds = 0;

/**
 * Microseconds since 2000-01-01 UTC; a bigint beyond 2^53 (from the year 2285 on). Digits below a microsecond are
 * rounded, as Postgres does. Undefined for anything that is not such a timestamp.
 */
export function postgresMicroseconds(text: string): number | bigint | undefined {
  if (text.length !== 27 || text.charCodeAt(19) !== 0x2e || text.charCodeAt(26) !== 0x5a) return slowly(text);
  const date = text.slice(0, 10);
  if (date !== day && !remember(date)) return slowly(text);
  const hours = two(text, 11);
  const minutes = two(text, 14);
  const seconds = two(text, 17);
  const fraction = two(text, 20) * 10_000 + two(text, 22) * 100 + two(text, 24);
  // Any character that is no digit makes a number out of range or NaN: the careful way decides.
  if (!(hours < 24 && minutes < 60 && seconds < 60 && fraction <= 999_999)) return slowly(text);
  if (text.charCodeAt(10) !== 0x54 || text.charCodeAt(13) !== 0x3a || text.charCodeAt(16) !== 0x3a) return undefined;
  return combined(daySeconds + hours * 3600 + minutes * 60 + seconds, fraction);
}

/** Two digits as a number; NaN when they are not. */
function two(text: string, at: number): number {
  const tens = text.charCodeAt(at) - zero;
  const ones = text.charCodeAt(at + 1) - zero;
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? tens * 10 + ones : Number.NaN;
}

function remember(date: string): boolean {
  const seconds = secondsOf(`${date}T00:00:00`);
  if (seconds === undefined) return false;
  day = date;
  daySeconds = seconds;
  return true;
}

/** Seconds since 2000; undefined for a day or an hour that does not exist. */
function secondsOf(local: string): number | undefined {
  const milliseconds = Date.parse(`${local}Z`);
  if (Number.isNaN(milliseconds) || new Date(milliseconds).toISOString().slice(0, 19) !== local) return undefined;
  return milliseconds / 1000 - epochSeconds;
}

function slowly(text: string): number | bigint | undefined {
  const [, local, fraction = ''] = form.exec(text) ?? [];
  const seconds = local === undefined ? undefined : secondsOf(local);
  return seconds === undefined ? undefined : combined(seconds, Math.round(Number(`0.${fraction}0`) * 1e6));
}

function combined(seconds: number, microseconds: number): number | bigint {
  const sum = seconds * 1_000_000 + microseconds;
  return Number.isSafeInteger(sum) ? sum : BigInt(seconds) * 1_000_000n + BigInt(microseconds);
}
