/** Reads the tables of a migrated database from its catalog, in a stable order. */
import type { Database } from '../../src/store/connection/database.ts';

export interface Column {
  readonly name: string;
  readonly type: string;
  readonly key: boolean;
  readonly nullable: boolean;
  /** Whether the server sets the column when an insert omits it. */
  readonly filled: boolean;
  /** The condition of a check on this column alone, as printed by the server; null if there is none. */
  readonly check: string | null;
}

export interface Table {
  readonly name: string;
  readonly columns: readonly Column[];
}

interface Row extends Column {
  readonly table: string;
}

const catalog = `
  select c.relname::text as table, a.attname::text as name,
         replace(format_type(a.atttypid, a.atttypmod), 'timestamp with time zone', 'timestamptz') as type,
         exists (select from pg_index i where i.indrelid = c.oid and i.indisprimary and a.attnum = any (i.indkey)) as key,
         not a.attnotnull as nullable, a.atthasdef as filled,
         (select min(pg_get_expr(k.conbin, k.conrelid)) from pg_constraint k
           where k.conrelid = c.oid and k.contype = 'c' and k.conkey = array[a.attnum]) as check
    from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
   where c.relnamespace = $1::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
   order by c.relname collate "C", a.attnum`;

/** Tables of the storage schema, sorted by name. Columns are in the order in which they were created. */
export async function storedTables(database: Database): Promise<readonly Table[]> {
  const { rows } = await database.withClient((client) => client.query<Row>(catalog, [database.schema]));
  const names = [...new Set(rows.map(({ table }) => table))];
  return names.map((name) => ({
    name,
    columns: rows.filter(({ table }) => table === name),
  }));
}
