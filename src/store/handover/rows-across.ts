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

const smallTables = tablesWhere(({ carried: copyRule }) => copyRule !== undefined);

interface CopiedTable {
  readonly table: string;
  /** SQL condition on the rows to copy. */
  readonly where: string;
  readonly rowsAtOnce: number;
}

export interface CopyContext {
  /** Client of the source storage, in a transaction. */
  readonly from: ClientBase;
  /** Client of the other server, in a transaction. */
  readonly to: ClientBase;
  /** Name of the storage schema, the same on both servers. */
  readonly schema: string;
  readonly completions: Completions;
}

/**
 * Calls `copyTables` with a temporary schema that holds the copied rows. `copyTables` reads from that schema. It has
 * only the copied tables, and is dropped afterwards.
 */
export async function copyAcrossServers(
  { from, to, schema, completions }: CopyContext,
  copyTables: (to: ClientBase, storages: Storages) => Promise<void>,
): Promise<void> {
  const foreignSchema = `${schema}_brought`;
  const drop = `drop schema if exists ${escapeIdentifier(foreignSchema)} cascade`;
  await to.query(`${drop}; create schema ${escapeIdentifier(foreignSchema)}`);
  for (const copiedTable of await listCopiedTables(to, schema, completions)) {
    const source = `${escapeIdentifier(schema)}.${escapeIdentifier(copiedTable.table)}`;
    const target = `${escapeIdentifier(foreignSchema)}.${escapeIdentifier(copiedTable.table)}`;
    await to.query(`create table ${target} (like ${escapeIdentifier(schema)}.${escapeIdentifier(copiedTable.table)})`);
    await copyTable(from, to, { ...copiedTable, source, target });
  }
  await copyTables(to, { from: foreignSchema, to: schema });
  await to.query(drop);
}

async function listCopiedTables(
  to: ClientBase,
  schema: string,
  completions: Completions,
): Promise<readonly CopiedTable[]> {
  const storage = escapeIdentifier(schema);
  const { rows } = await to.query<{ packages: string; read: string; begun: string | null }>(
    `select (select coalesce(jsonb_agg(package_id), '[]') from ${storage}.packages)::text as packages,
            coalesce(range_agg(int8range(from_offset, to_offset, '(]')), '{}')::text as read,
            min(from_offset)::text as begun
       from ${storage}.completion_ranges`,
  );
  const { packages = '[]', read: readRanges = '{}', begun: firstBegin } = rows[0] ?? {};
  const fixedTables: readonly CopiedTable[] = [
    {
      table: 'packages',
      where: `not ${escapeLiteral(packages)}::jsonb ? package_id`,
      rowsAtOnce: 20,
    },
    ...smallTables.map((table) => ({ table, where: 'true', rowsAtOnce: 1_000 })),
  ];
  if (completions === 'none') return fixedTables;
  const completionFilter =
    completions === 'all'
      ? `not ${escapeLiteral(readRanges)}::int8multirange @> "offset"`
      : `"offset" <= ${escapeLiteral(firstBegin ?? '-1')}::int8`;
  return [
    ...fixedTables,
    { table: 'completion_ranges', where: 'true', rowsAtOnce: 1_000 },
    { table: 'completions', where: completionFilter, rowsAtOnce: 1_000 },
    {
      table: 'submitters',
      where: `submitters_key in (select submitters_key from ${storage}.completions where ${completionFilter})`,
      rowsAtOnce: 1_000,
    },
  ];
}

async function copyTable(
  from: ClientBase,
  to: ClientBase,
  {
    source,
    target,
    where: condition,
    rowsAtOnce: rowsPerFetch,
  }: CopiedTable & { readonly source: string; readonly target: string },
): Promise<void> {
  await from.query(
    `declare brought no scroll cursor for select row_to_json(t)::text as row from ${source} t where ${condition}`,
  );
  for (;;) {
    const { rows } = await from.query<{ row: string }>(`fetch ${String(rowsPerFetch)} from brought`);
    if (rows.length === 0) break;
    const texts = `[${rows.map(({ row }) => row).join(',')}]`;
    await to.query(`insert into ${target} select * from json_populate_recordset(null::${target}, $1::json)`, [texts]);
  }
  await from.query('close brought');
}
