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

/** Where an hour ends in ISO-8601. */
const hourLength = 13;

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
      const hour = `${this.#hour}:00:00Z`;
      row = { hour, templatePk, choicePk, synchronizerPk, creates: 0, archives: 0, exercises: 0 };
      rows.set(key, row);
    }
    return row;
  }

  rows(): readonly ActivityRow[] {
    const byHour = [...this.#hours.values()];
    return byHour.flatMap((templates) => [...templates.values()].flatMap((rows) => [...rows.values()]));
  }

  #enter(hour: string): void {
    this.#hour = hour;
    let templates = this.#hours.get(hour);
    if (templates === undefined) this.#hours.set(hour, (templates = new Map()));
    this.#templates = templates;
  }
}
