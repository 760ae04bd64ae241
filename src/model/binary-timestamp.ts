/**
 * Timestamps of the ledger (ISO-8601, UTC, 0 to 9 fraction digits) in the unit of Postgres: microseconds since 2000.
 */
import { utf8Of, type TextOrUtf8 } from './utf8.ts';

/** Since 2000-01-01 UTC; a bigint beyond 2^53 (since the year 2285). */
export type Microseconds = number | bigint;

const timestampPattern = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?Z$/;
const epochSeconds = Date.UTC(2000, 0, 1) / 1000;
const zero = 0x30;
const dash = 0x2d;
const letterT = 0x54;
const colon = 0x3a;
const point = 0x2e;
const letterZ = 0x5a;

/**
 * The last day seen, as the number of its digits. With the next variable, its first second, this is a cache: the times
 * of a stream change slowly.
 */
let day = -1;
let daySeconds = 0;

/**
 * Converts a timestamp to microseconds. Digits below a microsecond are rounded, as in Postgres. Undefined for a text
 * that is not such a timestamp.
 */
export function postgresMicroseconds(text: TextOrUtf8): Microseconds | undefined {
  const { bytes, start, length } = utf8Of(text);
  if (length !== 27 || !hasSeparators(bytes, start)) return parseSlowly(String(text));
  const date = twoDigitsAt(bytes, start) * 1_000_000 + twoDigitsAt(bytes, start + 2) * 10_000 + twoDigitsAt(bytes, start + 5) * 100 + twoDigitsAt(bytes, start + 8); // prettier-ignore
  if (date !== day && !cacheDate(date, bytes.toString('latin1', start, start + 10))) return parseSlowly(String(text));
  const hours = twoDigitsAt(bytes, start + 11);
  const minutes = twoDigitsAt(bytes, start + 14);
  const seconds = twoDigitsAt(bytes, start + 17);
  const fraction =
    twoDigitsAt(bytes, start + 20) * 10_000 + twoDigitsAt(bytes, start + 22) * 100 + twoDigitsAt(bytes, start + 24);
  // Any character that is not a digit makes a number out of range or NaN. The slow function then decides.
  if (!(hours < 24 && minutes < 60 && seconds < 60 && fraction <= 999_999)) return parseSlowly(String(text));
  return combined(daySeconds + hours * 3600 + minutes * 60 + seconds, fraction);
}

/** Whether the punctuation of `2026-08-14T11:01:00.100001Z` is where it should be. */
function hasSeparators(bytes: Buffer, start: number): boolean {
  if (bytes[start + 4] !== dash || bytes[start + 7] !== dash || bytes[start + 10] !== letterT) return false;
  if (bytes[start + 13] !== colon || bytes[start + 16] !== colon) return false;
  return bytes[start + 19] === point && bytes[start + 26] === letterZ;
}

/** Two digits as a number; NaN if they are not digits. */
function twoDigitsAt(bytes: Buffer, at: number): number {
  const tens = (bytes[at] ?? 0) - zero;
  const ones = (bytes[at + 1] ?? 0) - zero;
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? tens * 10 + ones : Number.NaN;
}

function cacheDate(date: number, dateText: string): boolean {
  const seconds = secondsOf(`${dateText}T00:00:00`);
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

function parseSlowly(text: string): Microseconds | undefined {
  const [, local, fraction = ''] = timestampPattern.exec(text) ?? [];
  const seconds = local === undefined ? undefined : secondsOf(local);
  return seconds === undefined ? undefined : combined(seconds, Math.round(Number(`0.${fraction}0`) * 1e6));
}

function combined(seconds: number, microseconds: number): Microseconds {
  const sum = seconds * 1_000_000 + microseconds;
  return Number.isSafeInteger(sum) ? sum : BigInt(seconds) * 1_000_000n + BigInt(microseconds);
}
