/** A column of a table of the lake: the types of its values in memory, for readers and writers. Pure. */
import type { ReadColumn, ReadTable, ReadType } from 'ledger-indexer/read';

export type LakeType = ReadType;

export type LakeColumn = ReadColumn;

/**
 * Values of one column; null for missing values. Texts are strings or their UTF-8 bytes, int64 and timestamps
 * (microseconds since 1970) are bigints, decimals are bigints in units of their last digit, dates are days since 1970,
 * lists are arrays of strings.
 */
export type LakeValues = (boolean | number | bigint | string | Uint8Array | readonly string[] | null)[];

/** A table of the lake: a folder of files. */
export type LakeTable = Pick<ReadTable, 'name' | 'columns'>;
