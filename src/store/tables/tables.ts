/** Every table of a stream with its entry. A test compares the names with the tables that the migrations create. */
import type { TableEntry } from './entry.ts';
import { historyTables } from './history.ts';
import { labelTables } from './labels.ts';
import { retainedTables } from './kept.ts';
import { dictionaryTables } from './names.ts';
import { readerTables } from './readers.ts';
import { streamTables } from './stream.ts';

const entries = {
  ...historyTables,
  ...dictionaryTables,
  ...retainedTables,
  ...streamTables,
  ...readerTables,
  ...labelTables,
};

export type StoredTable = keyof typeof entries;

/** Names of the tables from which a reset deletes rows by their "offset". */
type RevertibleTable = {
  [K in StoredTable]: (typeof entries)[K] extends { readonly goesBack: true } ? K : never;
}[StoredTable];

export const storedTables: Readonly<Record<StoredTable, TableEntry>> = entries;

/** Tables whose entry fulfills the condition, with their entries. */
export function entriesWhere(holds: (entry: TableEntry) => boolean): readonly (readonly [StoredTable, TableEntry])[] {
  return (Object.entries(storedTables) as [StoredTable, TableEntry][]).filter(([, entry]) => holds(entry));
}

/** Names of the tables whose entry fulfills the condition. */
export function tablesWhere(holds: (entry: TableEntry) => boolean): readonly StoredTable[] {
  return entriesWhere(holds).map(([table]) => table);
}

/** The same names, in the order in which a reset deletes their rows. */
export const revertibleTables = tablesWhere(
  ({ goesBack: isRevertible }) => isRevertible === true,
) as readonly RevertibleTable[];
