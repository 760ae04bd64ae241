/** What a query answered, in one shape for PromQL and SQL: fields of equal length. */

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

/** What one query of a panel answered. */
export interface Answer {
  readonly refId: string;
  readonly frames: readonly Frame[];
  /** Series of PromQL, rows of SQL. */
  readonly rows: number;
  /** Why it does not do; undefined when it does. */
  readonly problem?: string | undefined;
}

/** Whether any number in it is one. */
export function hasNumber(frames: readonly Frame[]): boolean {
  return frames.some(({ fields }) =>
    fields.some(
      ({ type, values }) => type === 'number' && values.some((v) => typeof v === 'number' && Number.isFinite(v)),
    ),
  );
}
