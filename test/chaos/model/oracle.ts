/**
 * Checks the result of a run. It must contain the same facts as a run without faults, and the facts of the model ledger
 * itself. Lost, duplicated and altered rows are counted and listed.
 */
import { escapeIdentifier, type Client } from 'pg';
import { namedRow, numberedTables } from '../../support/dictionary-names.ts';
import { digestOf } from '../../support/digest.ts';
import { activeSetAt, type History } from '../history/history.ts';
import { schema, type ChaosDatabase } from '../databases.ts';
import { differingValues } from './model-values.ts';

export interface RunOutcome {
  readonly digest: string;
  readonly seedOffset: number;
  /** Contradictions with the model ledger; empty if there are none. */
  readonly contradictions: readonly string[];
}

/** Digest of the current table contents, and their contradictions to the history. */
export async function outcomeOf(database: ChaosDatabase, history: History): Promise<RunOutcome> {
  const { rows } = await database.client.query<{ seed_offset: string; checkpoint: string }>(
    `select seed_offset, checkpoint from ${schema}.stream`,
  );
  const seedOffset = Number(rows[0]?.seed_offset ?? -1);
  const checkpoint = Number(rows[0]?.checkpoint ?? -1);
  const contradictions = await contradictionsOf(database.client, history, seedOffset, checkpoint);
  const digest = await digestOf(database.url, schema, 'named');
  if (contradictions.length === 0 && !isVerified(history, digest)) {
    contradictions.push(...(await differingValues(database.client, history, seedOffset)));
    if (contradictions.length === 0) markVerified(history, digest);
  }
  return { digest, seedOffset, contradictions };
}

/** Digests of table contents whose values were already compared with the history. Equal digests mean equal contents. */
const verifiedDigests = new WeakMap<History, Set<string>>();

function isVerified(history: History, digest: string): boolean {
  return verifiedDigests.get(history)?.has(digest) === true;
}

function markVerified(history: History, digest: string): void {
  const digests = verifiedDigests.get(history) ?? new Set();
  verifiedDigests.set(history, digests.add(digest));
}

/** Compares the tables with the history, independently of other runs. */
async function contradictionsOf(client: Client, history: History, seed: number, checkpoint: number): Promise<string[]> {
  const contradictionTexts: string[] = [];
  const end = history.items.at(-1)?.offset ?? 0;
  if (checkpoint !== end)
    contradictionTexts.push(`the checkpoint is ${String(checkpoint)}, the ledger ends at ${String(end)}`);
  const storedUpdates = await client.query<{ offset: string; event_count: number }>(
    `select "offset", event_count from ${schema}.updates order by "offset"`,
  );
  const sentUpdates = history.items.filter(({ kind, offset }) => kind !== 'checkpoint' && offset > seed);
  const storedOffsets = storedUpdates.rows.map(({ offset }) => Number(offset));
  const sentOffsets = sentUpdates.map(({ offset }) => offset);
  contradictionTexts.push(...difference('update', sentOffsets.map(String), storedOffsets.map(String)));
  const counts = new Map(storedUpdates.rows.map(({ offset, event_count: count }) => [Number(offset), count]));
  for (const { offset, events } of sentUpdates) {
    const count = counts.get(offset);
    if (count !== undefined && count !== events) {
      contradictionTexts.push(
        `update ${String(offset)} has ${String(count)} events, the ledger sent ${String(events)}`,
      );
    }
  }
  const activeSources = await client.query<{ name: string }>(
    `select l.contract_id || '@' || s.synchronizer_id as name
       from ${schema}.lifetimes l join ${schema}.synchronizers s using (synchronizer_pk)
      where l.deactivated_offset is null`,
  );
  const names = activeSources.rows.map(({ name }) => name).sort();
  contradictionTexts.push(...difference('active contract', activeSetAt(history, end), names));
  return contradictionTexts;
}

/** Lost, surplus and duplicated rows, as sentences. */
export function difference(subject: string, expected: readonly string[], actual: readonly string[]): string[] {
  const expectedSet = new Set(expected);
  const foundSet = new Set(actual);
  const lostLeaves = expected.filter((rowText) => !foundSet.has(rowText));
  const extraLeaves = actual.filter((rowText) => !expectedSet.has(rowText));
  const duplicateCount = actual.length - foundSet.size;
  return [
    ...(lostLeaves.length > 0
      ? [`${String(lostLeaves.length)} ${subject}s lost, the first is ${lostLeaves[0] ?? ''}`]
      : []),
    ...(extraLeaves.length > 0
      ? [`${String(extraLeaves.length)} ${subject}s too many, the first is ${extraLeaves[0] ?? ''}`]
      : []),
    ...(duplicateCount > 0 ? [`${String(duplicateCount)} ${subject}s stored twice`] : []),
  ];
}

export interface RowDifference {
  readonly lost: number;
  readonly duplicated: number;
  readonly altered: number;
  /** Table and key of the first differing rows. */
  readonly examples: readonly string[];
}

/** Columns that contain no ledger data. The digest also omits them. */
const volatile = new Set([
  'epoch',
  'writer',
  'seeded_at',
  'seed_release',
  'ledger_end',
  'participant_pruned_offset',
  'batch_offset',
  'recorded_at',
]);
const nonStreamTables = new Set([
  ...numberedTables,
  'batches',
  'packages',
  'omitted_fields',
  'typed_views',
  'typed_columns',
  'schema_migrations',
]);

/** Compares row by row. Reads complete tables, so it is only called when digests differ. */
export async function differingRowsOf(expected: ChaosDatabase, actual: ChaosDatabase): Promise<RowDifference> {
  const total = { lost: 0, duplicated: 0, altered: 0, examples: [] as string[] };
  for (const table of await keyedTables(expected.client)) {
    const expectedRows = await rowsOf(expected.client, table);
    const is = await rowsOf(actual.client, table);
    for (const [key, row] of expectedRows) {
      const actualRow = is.get(key);
      if (actualRow === row) continue;
      if (actualRow === undefined) total.lost += 1;
      else total.altered += 1;
      if (total.examples.length < 8) {
        total.examples.push(
          `${table.table} ${key} ${actualRow === undefined ? 'lost' : `is ${actualRow} instead of ${row}`}`.slice(
            0,
            1200,
          ),
        );
      }
    }
    for (const key of is.keys()) {
      if (expectedRows.has(key)) continue;
      total.duplicated += 1;
      if (total.examples.length < 8) total.examples.push(`${table.table} ${key} is too much`);
    }
  }
  return total;
}

interface KeyedTable {
  readonly table: string;
  readonly columns: readonly string[];
  readonly keys: readonly string[];
}

async function keyedTables(client: Client): Promise<readonly KeyedTable[]> {
  const { rows } = await client.query<KeyedTable>(
    // Rows of a table without a primary key are identified by all their columns.
    `select c.relname::text as table, array_agg(a.attname::text) as columns,
            array_agg(a.attname::text order by a.attnum)
              filter (where i.indkey is null or a.attnum = any (i.indkey::int2[])) as keys
       from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
       left join pg_index i on i.indrelid = c.oid and i.indisprimary
      where c.relnamespace = $1::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
      group by c.relname order by c.relname`,
    [escapeIdentifier(schema)],
  );
  return rows.filter(({ table }) => !nonStreamTables.has(table));
}

async function rowsOf(client: Client, { table, columns, keys }: KeyedTable): Promise<ReadonlyMap<string, string>> {
  const { rows } = await client.query<{ row: string }>(
    `select (${namedRow(schema, table, columns)})::text as row from ${escapeIdentifier(schema)}.${escapeIdentifier(table)} t`,
  );
  return new Map(
    rows.map(({ row }) => {
      const fields = JSON.parse(row) as Record<string, unknown>;
      const key = keys.map((column) => String(fields[column])).join('/');
      return [key, JSON.stringify(Object.entries(fields).filter(([column]) => !volatile.has(column)))] as const;
    }),
  );
}
