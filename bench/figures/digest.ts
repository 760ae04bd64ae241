/**
 * Digest of a database: counts, and one hash, which is a sum over hashes of rows and so independent of order and
 * batches. Like the digest of the tests, it excludes only columns and tables that depend on the writing process.
 */
import { createHash } from 'node:crypto';
import { escapeIdentifier, type Client } from 'pg';
import { explore, schema, withClient } from '../postgres.ts';
import type { ExpectedCounts } from '../replay/profiles.ts';
import { countedTableNames, volatileColumns, volatileTables } from '../storage.ts';

export interface Digest {
  readonly counts: Readonly<Record<string, number>>;
  /** Number of contracts that are active now. */
  readonly active: number;
  /** SHA-256 over the sums of all tables. */
  readonly hash: string;
}

interface Table {
  readonly name: string;
  readonly columns: readonly string[];
}

/** Computes the digest on the server. Reads every table once. */
export async function digestOf(url: string): Promise<Digest> {
  return withClient(url, async (client) => {
    await client.query(`set timezone = 'UTC'; set max_parallel_workers_per_gather = 2; set search_path = ${schema}`);
    const hash = createHash('sha256');
    const counts: Record<string, number> = {};
    for (const { name, columns } of await tablesOf(client)) {
      const values = columns.map((column) => escapeIdentifier(column)).join(', ');
      const { rows } = await client.query<{ count: string; sum: string | null }>(
        `select count(*) as count, sum(hashtextextended(row(${values})::text, 0))::text as sum
           from ${escapeIdentifier(name)}`,
      );
      counts[name] = Number(rows[0]?.count ?? 0);
      hash.update(JSON.stringify([name, columns, rows[0]]));
    }
    const activeCounts = await client.query<{ count: string }>(
      `select count(*) as count from ${explore}.active_contracts`,
    );
    return { counts, active: Number(activeCounts.rows[0]?.count ?? 0), hash: hash.digest('hex') };
  });
}

async function tablesOf(client: Client): Promise<readonly Table[]> {
  const { rows } = await client.query<Table>(
    `select c.relname::text as name, array_agg(a.attname::text order by a.attname collate "C") as columns
       from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
      where c.relnamespace = $1::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
      group by c.oid order by c.relname collate "C"`,
    [schema],
  );
  const comparedTables = rows.filter(({ name }) => !volatileTables.includes(name));
  return comparedTables.map(({ name, columns }) => {
    const skippedColumns = volatileColumns[name] ?? [];
    return { name, columns: columns.filter((column) => !skippedColumns.includes(column)) };
  });
}

/**
 * Describes differences from the expected digest; undefined if there are none. The counts follow from the recording
 * alone.
 * @param reference digest of the run whose rows the ceiling loads, if known
 */
export function digestDifference(actual: Digest, expected: ExpectedCounts, reference?: Digest): string | undefined {
  const { counts, active: activeCount } = actual;
  const comparisons = [
    ['updates', counts[countedTableNames.updates], expected.updates],
    ['contracts', counts[countedTableNames.contracts], expected.contracts],
    ['exercises', counts[countedTableNames.exercises], expected.exercises],
    ['active contracts', activeCount, expected.active],
  ].filter(([, is, expectedValue]) => is !== expectedValue);
  if (comparisons.length > 0) {
    return comparisons
      .map(([name, is, expectedValue]) => `${String(name)}: found ${String(is)}, expected ${String(expectedValue)}`)
      .join('; ');
  }
  if (reference === undefined || reference.hash === actual.hash) return undefined;
  return 'the counts are right, the contents differ from the reference';
}
