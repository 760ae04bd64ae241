/** The rows of a table within a range, as columns, a group at a time. */
import type { ClientBase } from 'pg';
import type { LakeValues } from '../../lake/lake-column.ts';
import { BinaryRowReader } from './binary-rows.ts';
import { copyOut } from './copy-out.ts';
import { copyStatement, type DescribedSource } from './described.ts';

export interface RowGroup {
  readonly values: readonly LakeValues[];
  readonly rows: number;
}

/** A group is as large as memory allows: what compresses a page is what it repeats. Bytes as the server sends them. */
const groupBytes = 2.5 * 1024 * 1024;

/** To be read to its end. @throws IndexerError STORE_ errors */
export async function* rangeRows(
  client: ClientBase,
  source: DescribedSource,
  [from, to]: readonly [from: number, to: number],
  departed: boolean,
): AsyncGenerator<RowGroup> {
  const reader = new BinaryRowReader(source.columns);
  for await (const piece of copyOut(client, copyStatement(source, from, to, departed))) {
    for (const _ of reader.add(piece, groupBytes)) {
      const { rows } = reader;
      yield { values: reader.take(), rows };
    }
  }
  if (reader.rows > 0) {
    const { rows } = reader;
    yield { values: reader.take(), rows };
  }
}
