/**
 * Rows as JSON, for batches so small that one statement with everything in it is quicker than a COPY per table. JSON
 * values of columns stay the text they are.
 */
import { tables, type ColumnType, type ColumnValue, type Row, type RowSink, type TableName } from '../model/tables.ts';

interface Column {
  /** With quotes and colon, as it stands in front of the value. */
  readonly key: string;
  readonly type: ColumnType;
}

const columnsOf = new Map<string, readonly Column[]>(
  Object.entries(tables).map(([table, columns]) => [
    table,
    Object.entries(columns).map(([name, type]) => ({ key: `${JSON.stringify(name)}:`, type })),
  ]),
);

/** Sums up the rows of one batch; used once. */
export class JsonRows implements RowSink {
  readonly #texts = new Map<TableName, string>();
  readonly #counts = new Map<TableName, number>();

  push(table: TableName, row: Row): void {
    const columns = columnsOf.get(table) ?? [];
    const members = columns.map(({ key, type }, index) => key + jsonOf(row[index] ?? null, type));
    const before = this.#texts.get(table);
    const object = `{${members.join(',')}}`;
    this.#texts.set(table, before === undefined ? object : `${before},${object}`);
    this.#counts.set(table, (this.#counts.get(table) ?? 0) + 1);
  }

  /** The rows of a table as a JSON array. */
  array(table: TableName): string {
    return `[${this.#texts.get(table) ?? ''}]`;
  }

  counts(): ReadonlyMap<string, number> {
    return this.#counts;
  }
}

function jsonOf(value: ColumnValue, type: ColumnType): string {
  if (typeof value === 'string') return type === 'jsonb' ? value : JSON.stringify(value);
  return typeof value === 'bigint' ? value.toString() : JSON.stringify(value);
}
