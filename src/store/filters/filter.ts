/**
 * Filters: conditions on the columns of a relation and on the fields of its JSON columns, as clients write them. They
 * are a small subset of SQL conditions without functions and casts.
 */

export type Comparison = '=' | '!=' | '<' | '<=' | '>' | '>=';

/** A value as it is written. Numbers stay texts, so that all digits are kept. */
export type Literal =
  | { readonly kind: 'text'; readonly value: string }
  | { readonly kind: 'number'; readonly value: string }
  | { readonly kind: 'boolean'; readonly value: boolean };

/** A column, or a column and the keys of a field in it. */
export interface FieldPath {
  readonly steps: readonly string[];
  /** Position of its first character in the text, from 1, for error messages. */
  readonly position: number;
}

export type Filter =
  | { readonly kind: 'and' | 'or'; readonly parts: readonly Filter[] }
  | { readonly kind: 'not'; readonly part: Filter }
  | Condition;

export type Condition =
  | {
      readonly kind: 'compare';
      readonly field: FieldPath;
      readonly operator: Comparison;
      readonly literal: Literal;
    }
  | { readonly kind: 'in'; readonly field: FieldPath; readonly literals: readonly Literal[] }
  /** A list that contains the value. */
  | { readonly kind: 'has'; readonly field: FieldPath; readonly literal: Literal }
  | { readonly kind: 'null'; readonly field: FieldPath; readonly isNull: boolean };

/** Limits of one filter. They bound the time of parsing, of planning, and the number of parameters. */
export const filterLimits = {
  characters: 2_000,
  /** Levels of parentheses and `not`. */
  depth: 10,
  conditions: 50,
  /** Values of one `in`. */
  values: 100,
  /** Steps of the path of a field, including the column. */
  steps: 10,
} as const;
