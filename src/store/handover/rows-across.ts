/**
 * Copies rows that cannot be read from a ledger to another server. The rows are first copied to a temporary schema on
 * the other server. From there, they are copied by the same statements that copy rows within one server. The server
 * formats the rows as JSON, which is exact for all types used.
 */
import { escapeIdentifier, escapeLiteral } from 'pg';
import type { ClientBase } from 'pg';
import type { Storages } from '../swap/rows.ts';
import { tablesWhere } from '../tables/tables.ts';

/**
 * Which completions to copy: none; those from before the target began to read; or all that the target has not read.
 * `all` is for the handover, when no indexer writes.
 */
export type Completions = 'none' | 'earlier' | 'all';

const small = tablesWhere(({ carried }) => carried !== undefined);

interface Brought {
  readonly table: string;
  /** SQL condition on the rows to copy. */
  readonly where: string;
  readonly rowsAtOnce: number;
}

export interface Across {
  /** Client of the source storage, in a transaction. */
  readonly from: ClientBase;
  /** Client of the other server, in a transaction. */
  readonly to: ClientBase;
  /** Name of the storage schema, the same on both servers. */
  readonly schema: string;
  readonly completions: Completions;
}

/**
 * Calls `carry` with a temporary schema that holds the copied rows. `carry` reads from that schema. It has only the
 * copied tables, and is dropped afterwards.
 */
export async function acrossServers(
  { from, to, schema, completions }: Across,
  carry: (to: ClientBase, storages: Storages) => Promise<void>,
): Promise<void> {
  const between = `${schema}_brought`;
  const drop = `drop schema if exists ${escapeIdentifier(between)} cascade`;
  await to.query(`${drop}; create schema ${escapeIdentifier(between)}`);
  for (const brought of await listBroughtTables(to, schema, completions)) {
    const source = `${escapeIdentifier(schema)}.${escapeIdentifier(brought.table)}`;
    const target = `${escapeIdentifier(between)}.${escapeIdentifier(brought.table)}`;
    await to.query(`create table ${target} (like ${escapeIdentifier(schema)}.${escapeIdentifier(brought.table)})`);
    await bring(from, to, { ...brought, source, target });
  }
  await carry(to, { from: between, to: schema });
  await to.query(drop);
}

async function listBroughtTables(
  to: ClientBase,
  schema: string,
  completions: Completions,
): Promise<readonly Brought[]> {
  const storage = escapeIdentifier(schema);
  const { rows } = await to.query<{ packages: string; read: string; begun: string | null }>(
    `select (select coalesce(jsonb_agg(package_id), '[]') from ${storage}.packages)::text as packages,
            coalesce(range_agg(int8range(from_offset, to_offset, '(]')), '{}')::text as read,
            min(from_offset)::text as begun
       from ${storage}.completion_ranges`,
  );
  const { packages = '[]', read = '{}', begun } = rows[0] ?? {};
  const always: readonly Brought[] = [
    {
      table: 'packages',
      where: `not ${escapeLiteral(packages)}::jsonb ? package_id`,
      rowsAtOnce: 20,
    },
    ...small.map((table) => ({ table, where: 'true', rowsAtOnce: 1_000 })),
  ];
  if (completions === 'none') return always;
  const which =
    completions === 'all'
      ? `not ${escapeLiteral(read)}::int8multirange @> "offset"`
      : `"offset" <= ${escapeLiteral(begun ?? '-1')}::int8`;
  return [
    ...always,
    { table: 'completion_ranges', where: 'true', rowsAtOnce: 1_000 },
    { table: 'completions', where: which, rowsAtOnce: 1_000 },
    {
      table: 'submitters',
      where: `submitters_key in (select submitters_key from ${storage}.completions where ${which})`,
      rowsAtOnce: 1_000,
    },
  ];
}

async function bring(
  from: ClientBase,
  to: ClientBase,
  { source, target, where, rowsAtOnce }: Brought & { readonly source: string; readonly target: string },
): Promise<void> {
  await from.query(
    `declare brought no scroll cursor for select row_to_json(t)::text as row from ${source} t where ${where}`,
  );
  for (;;) {
    const { rows } = await from.query<{ row: string }>(`fetch ${String(rowsAtOnce)} from brought`);
    if (rows.length === 0) break;
    const texts = `[${rows.map(({ row }) => row).join(',')}]`;
    await to.query(`insert into ${target} select * from json_populate_recordset(null::${target}, $1::json)`, [texts]);
  }
  await from.query('close brought');
}
