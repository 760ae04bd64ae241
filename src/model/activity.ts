/**
 * Events per hour, template, choice and synchronizer, and the updates of the hour: summed over a batch before they
 * reach the rollup table.
 */
import type { Microseconds } from './binary-timestamp.ts';
import type { UpdateTimes } from './rows.ts';
import type { StoredUpdate } from './update.ts';

export interface ActivityRow {
  /** Hours since 2000. */
  readonly hour: number;
  /** 0 in the row for the updates themselves. */
  readonly templatePk: number;
  /** 0 for creates and archived events. */
  readonly choicePk: number;
  readonly synchronizerPk: number;
  creates: number;
  archives: number;
  exercises: number;
  /** Transactions; like all fields that follow, in the row with template 0 only. */
  transactions: number;
  paidTrafficCost: number | bigint;
  /** Record time minus effective time of the transactions that have both, in `delayUnit`s. */
  delay: number;
  /** Sums over the templates of the hour: a chart of all events reads one row per hour. */
  totalCreates: number;
  totalArchives: number;
  totalExercises: number;
}

const hourMicroseconds = 3_600_000_000;

/**
 * Seconds; about a microsecond. Multiples of a power of two add up without rounding, below 2^33 seconds for an hour, so
 * the sum is the same however the updates were split into batches.
 */
export const delayUnit = 2 ** -20;
/** This many units are as long as 15625 microseconds: 2^20 and 1e6 without their common factor. */
const units = 2 ** 14;
const microseconds = 15_625;

export class Activity {
  /** By hour (since 2000), then by template, then by choice and synchronizer. */
  readonly #hours = new Map<number, Map<number, Map<number, ActivityRow>>>();
  #hour = Number.NaN;
  #templates = new Map<number, Map<number, ActivityRow>>();

  /** The row to count in. Updates without record time are not counted. */
  at(
    recorded: Microseconds | undefined,
    templatePk: number,
    choicePk: number,
    synchronizerPk: number,
  ): ActivityRow | undefined {
    return recorded === undefined ? undefined : this.#row(hourOf(recorded), templatePk, choicePk, synchronizerPk);
  }

  /** Counts the update itself: whether it is a transaction, its cost, and its delay from effective to record time. */
  addUpdate({ kind, paidTrafficCost }: StoredUpdate, times: UpdateTimes, synchronizerPk: number): void {
    const { recorded, effective } = times;
    if (kind !== 'transaction' && paidTrafficCost === null) return;
    const row = this.at(recorded, 0, 0, synchronizerPk);
    if (row === undefined || recorded === undefined) return;
    if (paidTrafficCost !== null) row.paidTrafficCost = sum(row.paidTrafficCost, paidTrafficCost);
    if (kind !== 'transaction') return;
    row.transactions += 1;
    if (effective !== undefined) row.delay += delay(effective, recorded);
  }

  /** All rows, including sums: nothing may be counted afterwards. */
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

function sum(total: number | bigint, more: number | bigint): number | bigint {
  if (typeof total === 'number' && typeof more === 'number' && Number.isSafeInteger(total + more)) return total + more;
  return BigInt(total) + BigInt(more);
}

/** Units from one to the other. */
function delay(effective: Microseconds, recorded: Microseconds): number {
  const passed =
    typeof effective === 'number' && typeof recorded === 'number'
      ? recorded - effective
      : Number(BigInt(recorded) - BigInt(effective));
  // In microseconds, because Postgres converts it back: exact for any length. The remainder is never a half.
  const scaled = passed * units;
  const left = scaled % microseconds;
  return (scaled - left) / microseconds + Math.round(left / microseconds);
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
