/**
 * Digests of all tables and views of a stream, for comparisons before and after an upgrade. They are computed by
 * Postgres from the catalog, so they include relations that no list names.
 */
import { Client, escapeIdentifier } from 'pg';

/** The columns of a relation and a digest of its rows. */
export interface Contents {
  readonly columns: readonly string[];
  readonly rows: number;
  readonly digest: string;
}

const schemas = ['ledger', 'explore', 'typed', 'pqs', 'pqs_multisync', 'derived'];

/** Tables that describe the state of background work, which an upgrade may repeat. */
const backgroundTables: ReadonlySet<string> = new Set([
  'ledger.schema_migrations',
  'ledger.projections',
  'ledger.projection_changes',
]);

/** Views and columns that depend on the current time, for example because a lock expires. */
const timeViews: ReadonlySet<string> = new Set(['explore.traffic_runway']);
const timeColumns: ReadonlySet<string> = new Set(['explore.token_locks.withdrawable']);

/**
 * The contents of each relation that the role of the URL may read.
 * @param before digests only these columns, which an earlier call has found; new columns and relations are ignored
 * @param isCompared whether a relation, as `schema.name`, is compared; default all
 * @param omittedColumns as `schema.relation.column`
 */
export async function contentsOf(
  url: string,
  before?: ReadonlyMap<string, Contents>,
  isCompared = (_relation: string): boolean => true,
  omittedColumns: readonly string[] = [],
): Promise<ReadonlyMap<string, Contents>> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(`set timezone = 'UTC'; set datestyle = 'ISO'; set bytea_output = 'hex'; set jit = off`);
    const relations = before ?? (await columnsOf(client, isCompared, omittedColumns));
    const contents = new Map<string, Contents>();
    for (const [name, { columns }] of relations) contents.set(name, await digestOfRelation(client, name, columns));
    return contents;
  } finally {
    await client.end();
  }
}

type Columns = Pick<Contents, 'columns'>;

async function columnsOf(
  client: Client,
  isCompared: (relation: string) => boolean,
  omittedColumns: readonly string[],
): Promise<ReadonlyMap<string, Columns>> {
  const { rows } = await client.query<{ name: string; columns: readonly string[] }>(
    `select n.nspname || '.' || c.relname as name, array_agg(a.attname::text order by a.attnum) as columns
       from pg_class c
       join pg_namespace n on n.oid = c.relnamespace
       join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
      where n.nspname = any ($1) and c.relkind in ('r', 'p', 'v')
        and has_schema_privilege(n.oid, 'usage') and has_column_privilege(c.oid, a.attnum, 'select')
      group by 1 order by 1`,
    [schemas],
  );
  const omitted = new Set([...timeColumns, ...omittedColumns]);
  return new Map(
    rows
      .filter(({ name }) => !backgroundTables.has(name) && !timeViews.has(name) && isCompared(name))
      .map(({ name, columns }) => [name, { columns: columns.filter((column) => !omitted.has(`${name}.${column}`)) }]),
  );
}

async function digestOfRelation(client: Client, name: string, columns: readonly string[]): Promise<Contents> {
  const [schema = '', relation = ''] = name.split('.');
  const row = `row(${columns.map(escapeIdentifier).join(', ')})::text collate "C"`;
  const { rows } = await client.query<{ rows: number; digest: string }>(
    `select count(*)::int as rows, md5(coalesce(string_agg(r, chr(10) order by r), '')) as digest
       from (select ${row} as r from ${escapeIdentifier(schema)}.${escapeIdentifier(relation)}) t`,
  );
  return { columns, rows: rows[0]?.rows ?? 0, digest: rows[0]?.digest ?? '' };
}

/** Names of the relations whose rows differ. */
export function differing(
  found: ReadonlyMap<string, Contents>,
  expected: ReadonlyMap<string, Contents>,
): readonly string[] {
  return [...expected].filter(([name, { digest }]) => found.get(name)?.digest !== digest).map(([name]) => name);
}
