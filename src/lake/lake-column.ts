/** A column of a table of the lake: what its values are, whatever writes or reads them. Pure. */

export type LakeType = 'boolean' | 'int32' | 'int64' | 'double' | 'text' | 'timestamp' | 'date' | 'texts' | 'decimal';

export interface LakeColumn {
  readonly name: string;
  /** `texts` is a list of texts; timestamps are UTC to the microsecond; decimals have 38 digits. */
  readonly type: LakeType;
  /** Digits behind the point, of a decimal only. */
  readonly scale?: number;
}

/**
 * Values of one column, null where there is none: texts as strings or as their UTF-8, int64 and timestamps (microseconds
 * since 1970) as bigints, decimals as bigints of their last digit, dates as days since 1970, lists as arrays of strings.
 */
export type LakeValues = (boolean | number | bigint | string | Uint8Array | readonly string[] | null)[];

/** A table of the lake: a folder of files. */
export interface LakeTable {
  /** Name of the folder: that of its view in explore, or `typed.` and the name of its view. */
  readonly name: string;
  readonly columns: readonly LakeColumn[];
}
