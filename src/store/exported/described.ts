/** Determines the columns of a table, and builds the statement that copies a range of its rows. */
import { escapeIdentifier, type ClientBase, type FieldDef } from 'pg';
import type { ReadColumn, ReadTable, ReadType } from './reads.ts';
import type { StoredTable } from './stored-tables.ts';

/** A table with its columns. */
export interface ExportedTable extends StoredTable, ReadTable {}

const typesByOid: ReadonlyMap<number, ReadType> = new Map([
  [16, 'boolean'],
  [20, 'int64'],
  [23, 'int32'],
  [701, 'double'],
  [25, 'text'],
  [1184, 'timestamp'],
  [1082, 'date'],
  [1009, 'texts'],
]);
const numeric = 1700;

/** Reads the names and types of the columns from the server. */
export async function describe(client: ClientBase, table: StoredTable): Promise<ExportedTable> {
  const { fields } = await client.query(`select * from (${filledIn(table, 0, -1, false)}) described limit 0`);
  return { ...table, columns: fields.map((field) => columnOf(field, table.scales)) };
}

/** The description of a table for other programs. It does not contain the SQL of the table. */
export function descriptionOf(table: ExportedTable | undefined): readonly ReadTable[] {
  if (table === undefined) return [];
  const { sql: _sql, scales: _scales, ...description } = table;
  return [description];
}

/**
 * The type of a column for other programs. JSON, intervals, and numbers without a fixed scale are returned as texts in
 * the format of Postgres.
 */
function columnOf({ name, dataTypeID }: FieldDef, scales: StoredTable['scales']): ReadColumn {
  const scale = scales?.get(name);
  if (dataTypeID === numeric && scale !== undefined) return { name, type: 'decimal', scale };
  return { name, type: typesByOid.get(dataTypeID) ?? 'text' };
}

/**
 * The statement that copies the rows of a range in the binary format, in a fixed order.
 * @param includeUnhosted see `filledIn`
 */
export function copyStatement(table: ExportedTable, from: number, to: number, includeUnhosted: boolean): string {
  const columns = table.columns.map(({ name, type }) => {
    const column = `x.${escapeIdentifier(name)}`;
    return type === 'text' ? `${column}::text` : column;
  });
  const order = table.order.map((name) => {
    const isText = table.columns.some((column) => column.name === name && column.type === 'text');
    return `x.${escapeIdentifier(name)}${isText ? '::text collate "C"' : ''}`;
  });
  const rows = filledIn(table, from, to, includeUnhosted);
  return `copy (select ${columns.join(', ')} from (${rows}) x order by ${order.join(', ')}) to stdout (format binary)`;
}

/**
 * The SQL of a table for a range of offsets, including both ends.
 * @param includeUnhosted whether some contracts lost all of their parties within the range, before they ended
 */
function filledIn({ sql }: StoredTable, from: number, to: number, includeUnhosted: boolean): string {
  const values = { from: String(from), to: String(to), unhosted: String(includeUnhosted) };
  // Quoted names of columns may contain the same texts.
  return sql.replaceAll(/"(?:[^"]|"")*"|\$(from|to|unhosted)\b/g, (text, name: keyof typeof values | undefined) =>
    name === undefined ? text : values[name],
  );
}
