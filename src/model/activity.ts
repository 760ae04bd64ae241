/** Events per hour, template, choice and synchronizer: summed over a batch before they reach the rollup table. */

export interface ActivityRow {
  readonly hour: string;
  readonly templatePk: number;
  /** 0 for creates and archived events. */
  readonly choicePk: number;
  readonly synchronizerPk: number;
  creates: number;
  archives: number;
  exercises: number;
}

export class Activity {
  readonly #rows = new Map<string, ActivityRow>();

  /** The row to count on; `recordTime` is ISO-8601 UTC text. Updates without record time are not counted. */
  at(recordTime: string | null, templatePk: number, choicePk: number, synchronizerPk: number): ActivityRow | undefined {
    if (recordTime === null) return undefined;
    const hour = `${recordTime.slice(0, 13)}:00:00Z`;
    const key = `${hour}|${String(templatePk)}|${String(choicePk)}|${String(synchronizerPk)}`;
    let row = this.#rows.get(key);
    if (row === undefined) {
      row = { hour, templatePk, choicePk, synchronizerPk, creates: 0, archives: 0, exercises: 0 };
      this.#rows.set(key, row);
    }
    return row;
  }

  rows(): readonly ActivityRow[] {
    return [...this.#rows.values()];
  }
}
