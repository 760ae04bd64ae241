/**
 * The ceiling: Postgres loads the same rows without the indexer. The server writes the tables of a finished run of the
 * indexer to files (`copy … to`), in two halves and in storage order. Then it loads them (`copy … from`) into an empty
 * schema with all indexes: on one connection with one transaction per file, or on two connections with one half each.
 */
import { rmSync } from 'node:fs';
import { escapeIdentifier, escapeLiteral, type Client } from 'pg';
import { digestOf, type Digest } from '../figures/digest.ts';
import { startCost, type Cost } from '../figures/cost.ts';
import { migrateSchema, schema, withClient, type RunDatabase, type Server } from '../postgres.ts';
import { excludedTables } from '../storage.ts';

interface TableFile {
  readonly table: string;
  readonly columns: string;
  readonly path: string;
}

export interface ReferenceRows {
  readonly digest: Digest;
  /** Files of the first and of the second half. */
  readonly halves: readonly [readonly TableFile[], readonly TableFile[]];
  readonly events: number;
}

export interface CeilingRun extends Cost {
  readonly error: string | undefined;
}

interface LeafTable {
  readonly root: string;
  readonly leaf: string;
  readonly pages: number;
  readonly columns: readonly string[];
}

/**
 * Writes the rows of a finished run to files in the data directory of the server, where the server can read them again.
 */
export async function exportRows(database: RunDatabase, events: number): Promise<ReferenceRows> {
  const digest = await digestOf(database.url);
  return withClient(database.url, async (client) => {
    await client.query(`set search_path = ${schema}`);
    const folder = (await client.query<{ data_directory: string }>('show data_directory')).rows[0]?.data_directory;
    const halves: [TableFile[], TableFile[]] = [[], []];
    for (const leafTable of await leavesOf(client)) {
      const middle = `'(${String(Math.floor(leafTable.pages / 2))},0)'`;
      const columns = leafTable.columns.map((column) => escapeIdentifier(column)).join(', ');
      for (const [halfIndex, compare] of ['<', '>='].entries()) {
        const path = `${folder ?? ''}/${database.name}_${leafTable.leaf}_${String(halfIndex)}.copy`;
        const rows = `select ${columns} from ${escapeIdentifier(leafTable.leaf)} where ctid ${compare} ${middle}`;
        const { rowCount } = await client.query(`copy (${rows}) to ${escapeLiteral(path)}`);
        if ((rowCount ?? 0) > 0) halves[halfIndex]?.push({ table: leafTable.root, columns, path });
      }
    }
    return { digest, halves, events };
  });
}

async function leavesOf(client: Client): Promise<readonly LeafTable[]> {
  await client.query('analyze');
  const { rows } = await client.query<LeafTable>(
    `select coalesce(pg_partition_root(c.oid), c.oid::regclass)::text as root, c.relname::text as leaf,
            c.relpages as pages, array_agg(a.attname::text order by a.attnum) as columns
       from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
                                          and a.attgenerated = ''
      where c.relnamespace = $1::regnamespace and c.relkind = 'r' and c.relname <> all ($2::text[])
      group by c.oid, c.relname, c.relpages order by c.relname`,
    [schema, excludedTables],
  );
  return rows;
}

/** Loads the rows over the given number of connections. Checks that the tables equal those of the reference. */
export async function runCeiling(server: Server, rows: ReferenceRows, lanes: 1 | 2): Promise<CeilingRun> {
  const database = await migrateSchema(await server.createDatabase());
  try {
    const [first, second] = rows.halves;
    const tableGroups = lanes === 1 ? [[...first, ...second].toSorted(compareTables)] : [first, second];
    const stop = startCost({ server });
    await Promise.all(tableGroups.map((files) => withClient(database.url, (client) => load(client, files))));
    const cost = stop();
    const hasSameDigest = (await digestOf(database.url)).hash === rows.digest.hash;
    return { ...cost, error: hasSameDigest ? undefined : 'the loaded tables differ from the reference' };
  } finally {
    await database.drop();
  }
}

/** Removes the files if they are on this machine. */
export function forgetRows({ halves }: ReferenceRows): void {
  for (const { path } of halves.flat()) rmSync(path, { force: true });
}

function compareTables(a: TableFile, b: TableFile): number {
  return a.table < b.table ? -1 : a.table > b.table ? 1 : 0;
}

async function load(client: Client, files: readonly TableFile[]): Promise<void> {
  await client.query(`set search_path = ${schema}`);
  for (const { table, columns, path } of files) {
    await client.query(`copy ${table} (${columns}) from ${escapeLiteral(path)}`);
  }
}
