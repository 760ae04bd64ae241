/** Result of a query in a common form for PromQL and SQL: fields of equal length. */

export type FieldType = 'time' | 'number' | 'string';

export interface Field {
  readonly name: string;
  readonly type: FieldType;
  /** Times are milliseconds. */
  readonly values: readonly (number | string | null)[];
}

export interface Frame {
  readonly fields: readonly Field[];
}

/** Result of one query of a panel. */
export interface Answer {
  readonly refId: string;
  readonly frames: readonly Frame[];
  /** Number of series (PromQL) or rows (SQL). */
  readonly rows: number;
  /** Why the result is not sufficient; undefined if it is. */
  readonly problem?: string | undefined;
}

/** Whether the frames contain a finite number. */
export function hasNumber(frames: readonly Frame[]): boolean {
  return frames.some(({ fields }) =>
    fields.some(
      ({ type, values }) => type === 'number' && values.some((v) => typeof v === 'number' && Number.isFinite(v)),
    ),
  );
}
