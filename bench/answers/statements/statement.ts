/** The statements that are measured. */

export interface Statement {
  /** Unique together with the range. */
  readonly name: string;
  readonly source: 'page' | 'panel' | 'variable' | 'view' | 'function';
  /** Part of the history that is selected: everything, the newest day, or undefined if there is no choice. */
  readonly range: 'all' | 'day' | undefined;
  /** Whose session runs it: the pages for operators are for the owner of the database. */
  readonly role: 'reader' | 'owner';
  readonly sql: string;
}

/** A statement that is not measured. */
export interface LeftOut {
  readonly name: string;
  readonly reason: string;
}

export interface Collected {
  readonly statements: readonly Statement[];
  readonly leftOut: readonly LeftOut[];
}

/** Ends of the history, and of its newest day. */
export interface HistoryEnds {
  readonly oldestTime: Date;
  readonly newestTime: Date;
  /** A day before the newest update, and the newest offset at that time. */
  readonly dayTime: Date;
  readonly dayOffset: string;
}

/** The statement over all history and over the newest day, or a single one if they are the same, or there is no second. */
export function rangeStatements(
  statement: Pick<Statement, 'name' | 'source'>,
  all: string,
  day: string | undefined,
): readonly Statement[] {
  const ofReader = { ...statement, role: 'reader' } as const;
  if (day === undefined || day === all) return [{ ...ofReader, range: undefined, sql: all }];
  return [
    { ...ofReader, range: 'all', sql: all },
    { ...ofReader, range: 'day', sql: day },
  ];
}

/** Text that identifies a measured statement. */
export function labelOf({ name, source, range }: Statement): string {
  return `${source} ${name}${range === undefined ? '' : ` (${range})`}`;
}
