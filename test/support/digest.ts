/**
 * Computes one SHA-256 over all ledger data in a schema. Two schemas with the same digest have the same ledger data,
 * whatever the number of batches, restarts and writers was. Columns that describe only the writing process are omitted.
 */
import { createHash, type Hash } from 'node:crypto';
import { Client, escapeIdentifier } from 'pg';
import { projectedTable, projectionNames } from '../../src/model/stream.ts';
import { namedColumn, numberedTables } from './dictionary-names.ts';

/** Columns that differ between runs and contain no ledger data. */
const volatileColumns: Readonly<Record<string, readonly string[]>> = {
  stream: ['epoch', 'writer', 'seeded_at', 'seed_release', 'ledger_end', 'participant_pruned_offset'],
  updates: ['batch_offset'],
  schema_migrations: ['applied_at'],
  coverage: ['recorded_at'],
  quarantine: ['epoch', 'quarantined_at', 'attempts', 'attempted_at'],
  redactions: ['redacted_at'],
  filter_interfaces: ['updated_at'],
};

/**
 * Tables that are filled in the background, for example after a package was read. Their contents do not depend on
 * history alone.
 */
const backgroundTables: ReadonlySet<string> = new Set([
  'packages',
  'omitted_fields',
  'typed_views',
  'typed_columns',
  'verifications',
  'completion_ranges',
  'completions',
  'submitters',
  'retention_holds',
  'jobs',
  'webhooks',
  'webhook_secrets',
  'webhook_dead_letters',
  'party_labels',
  'instrument_labels',
  'reader_tokens',
  'projections',
  'projection_changes',
  'history_changes',
  'user_projections',
  ...projectionNames.map(projectedTable),
]);

/** Records the writer's transactions. It contains no ledger data. */
const writerTable = 'batches';

interface Table {
  readonly name: string;
  readonly columns: readonly string[];
  readonly key: readonly string[];
}

type Numbers = 'as stored' | 'named';

/**
 * Hexadecimal SHA-256 of all tables of the schema in one snapshot, with rows in key order.
 * @param numbers `named` if the ledger sent updates in a different order, see dictionary-names.ts
 */
export async function digestOf(url: string, schema: string, numbers: Numbers = 'as stored'): Promise<string> {
  return createHash('sha256')
    .update(JSON.stringify(await tableDigests(url, schema, numbers)))
    .digest('hex');
}

/** The digest of each table, so that a difference names the table. */
export async function tableDigests(
  url: string,
  schema: string,
  numbers: Numbers = 'as stored',
): Promise<Readonly<Record<string, string>>> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    // Uses one text format of times and bytes, whatever the defaults of the server or the role are.
    await client.query(`begin transaction isolation level repeatable read, read only`);
    await client.query(`set local timezone = 'UTC'; set local datestyle = 'ISO'; set local bytea_output = 'hex'`);
    const digests: Record<string, string> = {};
    const comparedTables = (await tablesOf(client, schema)).filter(
      ({ name }) => !backgroundTables.has(name) && name !== writerTable,
    );
    const tables =
      numbers === 'named' ? comparedTables.filter(({ name }) => !numberedTables.has(name)) : comparedTables;
    if (tables.length === 0) throw new Error(`schema ${schema} holds no table: there is nothing to compare`);
    for (const table of tables) {
      const textSql = (column: string): string =>
        numbers === 'named' ? namedColumn(schema, table.name, column) : `t.${escapeIdentifier(column)}::text`;
      const hash = createHash('sha256');
      await addTable(client, schema, { ...table, textSql }, hash);
      digests[table.name] = hash.digest('hex');
    }
    return digests;
  } finally {
    await client.end();
  }
}

async function tablesOf(client: Client, schema: string): Promise<readonly Table[]> {
  const { rows } = await client.query<Table>(
    `select c.relname::text as name,
            array_agg(a.attname::text order by a.attname collate "C") as columns,
            array(select k.attname::text
                    from pg_index i
                    cross join lateral unnest(i.indkey::int2[]) with ordinality as u (attnum, place)
                    join pg_attribute k on k.attrelid = c.oid and k.attnum = u.attnum
                   where i.indrelid = c.oid and i.indisprimary order by u.place) as key
       from pg_class c
       join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
      where c.relnamespace = $1::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
      group by c.oid, c.relname
      order by c.relname collate "C"`,
    [escapeIdentifier(schema)],
  );
  return rows.map(({ name, columns, key }) => {
    const skippedColumns = volatileColumns[name] ?? [];
    const comparedColumns = columns.filter((column) => !skippedColumns.includes(column));
    // Without a key, rows are ordered by all columns.
    return { name, columns: comparedColumns, key: key.length === 0 ? comparedColumns : key };
  });
}

interface DigestTable extends Table {
  /** SQL of a column as text, because a collation applies only to text. Any total order can be used. */
  readonly textSql: (column: string) => string;
}

async function addTable(client: Client, schema: string, table: DigestTable, hash: Hash): Promise<void> {
  const values = table.columns.map(table.textSql).join(', ');
  const order = table.key.map((column) => `${table.textSql(column)} collate "C"`).join(', ');
  const { rows } = await client.query<{ line: string }>(
    `select json_build_array(${values})::text as line
       from ${escapeIdentifier(schema)}.${escapeIdentifier(table.name)} t order by ${order}`,
  );
  hash.update(`${JSON.stringify([table.name, table.columns, rows.length])}\n`);
  for (const { line } of rows) hash.update(`${line}\n`);
}
