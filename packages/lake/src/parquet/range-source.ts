/** Reads the rows of a table in a range, as columns, one row group at a time. */
import type { ReadTable, Snapshot } from 'ledger-indexer/read';
import { BinaryRowReader } from './binary-rows.ts';
import type { LakeValues } from './lake-column.ts';

export interface RowGroup {
  readonly values: readonly LakeValues[];
  readonly rows: number;
}

/**
 * Size of a row group, in bytes as sent by the server. It is as large as memory allows, because larger pages compress
 * better.
 */
const groupBytes = 2.5 * 1024 * 1024;

/** Must be read to its end. @throws errors of the snapshot */
export async function* rangeRows(
  snapshot: Snapshot,
  { name, columns }: ReadTable,
  [from, to]: readonly [from: number, to: number],
): AsyncGenerator<RowGroup> {
  const reader = new BinaryRowReader(columns);
  for await (const chunk of snapshot.rows(name, from, to)) {
    for (const _ of reader.add(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength), groupBytes)) {
      const { rows } = reader;
      yield { values: reader.take(), rows };
    }
  }
  if (reader.rows > 0) {
    const { rows } = reader;
    yield { values: reader.take(), rows };
  }
}
