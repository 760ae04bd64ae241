/** Counts the nulls in the columns of the reader views, to compare them with the generated types. */
import type { Client } from 'pg';

export interface ColumnNulls {
  /** Schema, view and column: `explore.contracts.payload`. */
  readonly column: string;
  readonly rows: number;
  readonly nulls: number;
}

const views = `
  select format('%I.%I', n.nspname, c.relname) as view, array_agg(a.attname::text order by a.attnum) as columns
    from pg_class c
    join pg_namespace n on n.oid = c.relnamespace
    join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
   where n.nspname in ('explore', 'typed', 'pqs') and c.relkind = 'v' and c.relname !~ '^__'
   group by 1 order by 1`;

export interface ViewRows {
  readonly view: string;
  readonly columns: readonly ColumnNulls[];
  /** Sample rows, as the driver returns them. */
  readonly sample: readonly Readonly<Record<string, unknown>>[];
}

/** The contents of every view. Each view is queried only once, because some are slow. */
export async function rowsOfViews(client: Pick<Client, 'query'>): Promise<readonly ViewRows[]> {
  const viewRows: ViewRows[] = [];
  for (const { view, columns } of await readViews(client)) {
    await client.query(`create temp table copied as select * from ${view}`);
    const counts = columns.map((column) => `count("${column}")`).join(', ');
    const { rows } = await client.query<{ rows: number; there: number[] }>(
      `select count(*)::int as rows, array[${counts}]::int[] as there from copied`,
    );
    const [{ rows: rowCount, there: presentCounts } = { rows: 0, there: [] }] = rows;
    const sample = (await client.query<Record<string, unknown>>('select * from copied limit 8')).rows;
    await client.query('drop table copied');
    const nulls = columns.map((column, index) => ({
      column: `${view}.${column}`,
      rows: rowCount,
      nulls: rowCount - (presentCounts[index] ?? 0),
    }));
    viewRows.push({ view, columns: nulls, sample });
  }
  return viewRows;
}

/** The views, each with its columns in order. */
export async function readViews(
  client: Pick<Client, 'query'>,
): Promise<readonly { readonly view: string; readonly columns: readonly string[] }[]> {
  return (await client.query<{ view: string; columns: string[] }>(views)).rows;
}

/** Columns of `DB` in a generated file, divided into columns that are never null and columns that can be null. */
export function declaredColumns(file: string): {
  readonly never: ReadonlySet<string>;
  readonly nullable: ReadonlySet<string>;
} {
  const [, body = ''] = /export interface DB \{\n([^]*?)\n\}\n/.exec(file) ?? [];
  const [neverNull, nullable] = [new Set<string>(), new Set<string>()];
  for (const [, view = '', columns = ''] of body.matchAll(/ {2}readonly '([^']+)': \{\n([^]*?)\n {2}\};/g)) {
    for (const [, column = '', type = ''] of columns.matchAll(/readonly '?([^':]+)'?: (.+);/g)) {
      const canBeNull = /(?:^|\| )null$/.test(type) || type === 'unknown';
      (canBeNull ? nullable : neverNull).add(`${view}.${column}`);
    }
  }
  return { never: neverNull, nullable };
}
