/**
 * Counts for the rollup table of activity: events per hour, template, choice and synchronizer, and updates per hour.
 * They are summed over a batch before they are written.
 */
import type { Microseconds } from './binary-timestamp.ts';
import type { UpdateTimes } from './rows.ts';
import type { StoredUpdate } from './update.ts';

export interface ActivityRow {
  /** Hours since 2000. */
  readonly hour: number;
  /** 0 in the row for the updates themselves. */
  readonly templatePk: number;
  /** 0 for creates, and for archived events. */
  readonly choicePk: number;
  readonly synchronizerPk: number;
  creates: number;
  archives: number;
  exercises: number;
  /** Number of transactions. Set only in the row with template 0, like all fields that follow. */
  transactions: number;
  paidTrafficCost: number | bigint;
  /** Sum, over the transactions that have both times, of record time minus effective time, in `delayUnit`s. */
  delay: number;
  /** Sums over the templates of the hour, so that a chart of all events reads one row per hour. */
  totalCreates: number;
  totalArchives: number;
  totalExercises: number;
}

const hourMicroseconds = 3_600_000_000;

/**
 * In seconds; about a microsecond. Multiples of a power of two add up without rounding if the sum for an hour is below
 * 2^33 seconds. So the sum does not depend on how the updates were split into batches.
 */
export const delayUnit = 2 ** -20;
/** This many units are 15625 microseconds: 2^20 and 1e6 divided by their greatest common divisor. */
const units = 2 ** 14;
const microseconds = 15_625;

export class Activity {
  /** By hour (since 2000), then by template, then by choice and synchronizer. */
  readonly #hours = new Map<number, Map<number, Map<number, ActivityRow>>>();
  #hour = Number.NaN;
  #templates = new Map<number, Map<number, ActivityRow>>();

  /** The row in which to count an event; undefined without a record time, because then nothing is counted. */
  at(
    recordTime: Microseconds | undefined,
    templatePk: number,
    choicePk: number,
    synchronizerPk: number,
  ): ActivityRow | undefined {
    return recordTime === undefined ? undefined : this.#row(hourOf(recordTime), templatePk, choicePk, synchronizerPk);
  }

  /** Counts the update itself: whether it is a transaction, its cost, and its delay from effective to record time. */
  addUpdate({ kind, paidTrafficCost }: StoredUpdate, updateTimes: UpdateTimes, synchronizerPk: number): void {
    const { recorded: recordTime, effective: effectiveTime } = updateTimes;
    if (kind !== 'transaction' && paidTrafficCost === null) return;
    const row = this.at(recordTime, 0, 0, synchronizerPk);
    if (row === undefined || recordTime === undefined) return;
    if (paidTrafficCost !== null) row.paidTrafficCost = sum(row.paidTrafficCost, paidTrafficCost);
    if (kind !== 'transaction') return;
    row.transactions += 1;
    if (effectiveTime !== undefined) row.delay += delay(effectiveTime, recordTime);
  }

  /** Returns all rows, with sums. Nothing may be counted afterwards. */
  rows(): readonly ActivityRow[] {
    return [...this.#hours.keys()].flatMap((hour) => {
      this.#enter(hour);
      const rows = this.#ofHour();
      for (const row of rows) this.#addToTotal(row);
      return this.#ofHour();
    });
  }

  #ofHour(): readonly ActivityRow[] {
    return [...this.#templates.values()].flatMap((rows) => [...rows.values()]);
  }

  #addToTotal({ templatePk, synchronizerPk, creates, archives, exercises }: ActivityRow): void {
    if (templatePk === 0) return;
    const total = this.#row(this.#hour, 0, 0, synchronizerPk);
    total.totalCreates += creates;
    total.totalArchives += archives;
    total.totalExercises += exercises;
  }

  #row(hour: number, templatePk: number, choicePk: number, synchronizerPk: number): ActivityRow {
    if (hour !== this.#hour) this.#enter(hour);
    let rows = this.#templates.get(templatePk);
    if (rows === undefined) this.#templates.set(templatePk, (rows = new Map()));
    const key = choicePk * 2 ** 20 + synchronizerPk;
    let row = rows.get(key);
    if (row === undefined) {
      row = emptyRow(hour, templatePk, choicePk, synchronizerPk);
      rows.set(key, row);
    }
    return row;
  }

  #enter(hour: number): void {
    this.#hour = hour;
    let templates = this.#hours.get(hour);
    if (templates === undefined) this.#hours.set(hour, (templates = new Map()));
    this.#templates = templates;
  }
}

function emptyRow(hour: number, templatePk: number, choicePk: number, synchronizerPk: number): ActivityRow {
  const events = { creates: 0, archives: 0, exercises: 0 };
  const totals = { totalCreates: 0, totalArchives: 0, totalExercises: 0 };
  const updates = { transactions: 0, paidTrafficCost: 0, delay: 0 };
  return { hour, templatePk, choicePk, synchronizerPk, ...events, ...updates, ...totals };
}

function sum(total: number | bigint, increment: number | bigint): number | bigint {
  if (typeof total === 'number' && typeof increment === 'number' && Number.isSafeInteger(total + increment))
    return total + increment;
  return BigInt(total) + BigInt(increment);
}

/** The time from one to the other, in `delayUnit`s. */
function delay(effectiveTime: Microseconds, recordTime: Microseconds): number {
  const elapsed =
    typeof effectiveTime === 'number' && typeof recordTime === 'number'
      ? recordTime - effectiveTime
      : Number(BigInt(recordTime) - BigInt(effectiveTime));
  // Rounded from microseconds, because Postgres converts the value back. Exact for any length; the remainder is never
  // exactly one half.
  const scaledDelay = elapsed * units;
  const remainder = scaledDelay % microseconds;
  return (scaledDelay - remainder) / microseconds + Math.round(remainder / microseconds);
}

/** Hours since 2000. */
function hourOf(time: Microseconds): number {
  if (typeof time === 'number') return Math.floor(time / hourMicroseconds);
  const hours = time / BigInt(hourMicroseconds);
  return Number(time < 0n && hours * BigInt(hourMicroseconds) !== time ? hours - 1n : hours);
}

/** Beginning of an hour, for Postgres. */
export function startOf(hour: number): Microseconds {
  const start = hour * hourMicroseconds;
  return Number.isSafeInteger(start) ? start : BigInt(hour) * BigInt(hourMicroseconds);
}
