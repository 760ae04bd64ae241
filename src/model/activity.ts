/**
 * Events per hour, template, choice and synchronizer, and the updates of the hour themselves: summed over a batch before
 * they reach the rollup table.
 */
import { postgresMicroseconds } from './binary-timestamp.ts';
import type { StoredUpdate } from './update.ts';

export interface ActivityRow {
  readonly hour: string;
  /** 0 in the row that stands for the updates themselves. */
  readonly templatePk: number;
  /** 0 for creates and archived events. */
  readonly choicePk: number;
  readonly synchronizerPk: number;
  creates: number;
  archives: number;
  exercises: number;
  /** Transactions; like all that follow, in the row with template 0 only. */
  transactions: number;
  paidTrafficCost: number | bigint;
  /** Record time minus effective time of the transactions that have both, in `delayUnit`s. */
  delay: number;
  /** Sums over the templates of the hour: a chart of all events reads one row per hour. */
  totalCreates: number;
  totalArchives: number;
  totalExercises: number;
}

/** Where an hour ends in ISO-8601. */
const hourLength = 13;

/**
 * Seconds; about a microsecond. Multiples of a power of two add up without rounding, below 2^33 seconds for an hour: the
 * sum is the same however the updates were cut into batches.
 */
export const delayUnit = 2 ** -20;
/** So many units are as long as so many microseconds: 2^20 and 1e6 without what they have in common. */
const units = 2 ** 14;
const microseconds = 15_625;

export class Activity {
  /** By hour, then by template, then by choice and synchronizer. */
  readonly #hours = new Map<string, Map<number, Map<number, ActivityRow>>>();
  #hour = '';
  #templates = new Map<number, Map<number, ActivityRow>>();

  /** The row to count on; `recordTime` is ISO-8601 UTC text. Updates without record time are not counted. */
  at(recordTime: string | null, templatePk: number, choicePk: number, synchronizerPk: number): ActivityRow | undefined {
    if (recordTime === null) return undefined;
    if (this.#hour === '' || !recordTime.startsWith(this.#hour)) this.#enter(recordTime.slice(0, hourLength));
    let rows = this.#templates.get(templatePk);
    if (rows === undefined) this.#templates.set(templatePk, (rows = new Map()));
    const key = choicePk * 2 ** 20 + synchronizerPk;
    let row = rows.get(key);
    if (row === undefined) {
      row = emptyRow(`${this.#hour}:00:00Z`, templatePk, choicePk, synchronizerPk);
      rows.set(key, row);
    }
    return row;
  }

  /** Counts the update itself: whether it is a transaction, what it cost, how late it was recorded. */
  addUpdate(update: StoredUpdate, synchronizerPk: number): void {
    const { recordTime, paidTrafficCost } = update;
    if (update.kind !== 'transaction' && paidTrafficCost === null) return;
    const row = this.at(recordTime, 0, 0, synchronizerPk);
    if (row === undefined || recordTime === null) return;
    if (paidTrafficCost !== null) row.paidTrafficCost = sum(row.paidTrafficCost, paidTrafficCost);
    if (update.kind !== 'transaction') return;
    row.transactions += 1;
    if (update.effectiveAt !== null) row.delay += delay(update.effectiveAt, recordTime);
  }

  /** All rows, sums included: nothing may be counted after. */
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

  #addToTotal({ hour, templatePk, synchronizerPk, creates, archives, exercises }: ActivityRow): void {
    if (templatePk === 0) return;
    const total = this.at(hour, 0, 0, synchronizerPk);
    if (total === undefined) return;
    total.totalCreates += creates;
    total.totalArchives += archives;
    total.totalExercises += exercises;
  }

  #enter(hour: string): void {
    this.#hour = hour;
    let templates = this.#hours.get(hour);
    if (templates === undefined) this.#hours.set(hour, (templates = new Map()));
    this.#templates = templates;
  }
}

function emptyRow(hour: string, templatePk: number, choicePk: number, synchronizerPk: number): ActivityRow {
  const events = { creates: 0, archives: 0, exercises: 0 };
  const totals = { totalCreates: 0, totalArchives: 0, totalExercises: 0 };
  const updates = { transactions: 0, paidTrafficCost: 0, delay: 0 };
  return { hour, templatePk, choicePk, synchronizerPk, ...events, ...updates, ...totals };
}

function sum(total: number | bigint, more: number | bigint): number | bigint {
  if (typeof total === 'number' && typeof more === 'number' && Number.isSafeInteger(total + more)) return total + more;
  return BigInt(total) + BigInt(more);
}

/** Units from one to the other. A text that is no time counts anything: the row of the update will be refused. */
function delay(effectiveAt: string, recordTime: string): number {
  const near = effectiveAt.length === 27 && recordTime.length === 27 && effectiveAt.startsWith(recordTime.slice(0, 14));
  const [from, to] = near
    ? [microsecondsOfHour(effectiveAt), microsecondsOfHour(recordTime)]
    : [Number(postgresMicroseconds(effectiveAt)), Number(postgresMicroseconds(recordTime))];
  // As Postgres counts it, which takes it back: exact however long it was. What is left is never a half.
  const scaled = (to - from) * units;
  const left = scaled % microseconds;
  const counted = (scaled - left) / microseconds + Math.round(left / microseconds);
  return Number.isNaN(counted) ? 0 : counted;
}

const zero = 0x30;

/** Of `2026-08-14T11:01:00.100001Z`, what follows the hour; nearly always all that two times of one update differ in. */
function microsecondsOfHour(text: string): number {
  const two = (at: number): number => (text.charCodeAt(at) - zero) * 10 + text.charCodeAt(at + 1) - zero;
  return (two(14) * 60 + two(17)) * 1_000_000 + two(20) * 10_000 + two(22) * 100 + two(24);
}
