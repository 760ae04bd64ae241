/**
 * Checks the result of a run. It must contain the same facts as a run without faults, and the facts of the model ledger
 * itself. Lost, duplicated and altered rows are counted and listed.
 */
import { escapeIdentifier, type Client } from 'pg';
import { namedRow, numberedTables } from '../../support/dictionary-names.ts';
import { digestOf } from '../../support/digest.ts';
import { activeSetAt, type History } from '../history/history.ts';
import { schema, type ChaosDatabase } from '../databases.ts';
import { valuesThatDiffer } from './model-values.ts';

export interface Outcome {
  readonly digest: string;
  readonly seedOffset: number;
  /** Contradictions with the model ledger; empty if there are none. */
  readonly contradictions: readonly string[];
}

/** Digest of the current table contents, and their contradictions to the history. */
export async function outcomeOf(database: ChaosDatabase, history: History): Promise<Outcome> {
  const { rows } = await database.client.query<{ seed_offset: string; checkpoint: string }>(
    `select seed_offset, checkpoint from ${schema}.stream`,
  );
  const seedOffset = Number(rows[0]?.seed_offset ?? -1);
  const checkpoint = Number(rows[0]?.checkpoint ?? -1);
  const contradictions = await contradictionsOf(database.client, history, seedOffset, checkpoint);
  const digest = await digestOf(database.url, schema, 'named');
  if (contradictions.length === 0 && !isProven(history, digest)) {
    contradictions.push(...(await valuesThatDiffer(database.client, history, seedOffset)));
    if (contradictions.length === 0) prove(history, digest);
  }
  return { digest, seedOffset, contradictions };
}

/** Digests of table contents whose values were already compared with the history. Equal digests mean equal contents. */
const proven = new WeakMap<History, Set<string>>();

function isProven(history: History, digest: string): boolean {
  return proven.get(history)?.has(digest) === true;
}

function prove(history: History, digest: string): void {
  const digests = proven.get(history) ?? new Set();
  proven.set(history, digests.add(digest));
}

/** Compares the tables with the history, independently of other runs. */
async function contradictionsOf(client: Client, history: History, seed: number, checkpoint: number): Promise<string[]> {
  const found: string[] = [];
  const end = history.items.at(-1)?.offset ?? 0;
  if (checkpoint !== end) found.push(`the checkpoint is ${String(checkpoint)}, the ledger ends at ${String(end)}`);
  const stored = await client.query<{ offset: string; event_count: number }>(
    `select "offset", event_count from ${schema}.updates order by "offset"`,
  );
  const sentUpdates = history.items.filter(({ kind, offset }) => kind !== 'checkpoint' && offset > seed);
  const storedOffsets = stored.rows.map(({ offset }) => Number(offset));
  const sentOffsets = sentUpdates.map(({ offset }) => offset);
  found.push(...difference('update', sentOffsets.map(String), storedOffsets.map(String)));
  const counts = new Map(stored.rows.map(({ offset, event_count: count }) => [Number(offset), count]));
  for (const { offset, events } of sentUpdates) {
    const count = counts.get(offset);
    if (count !== undefined && count !== events) {
      found.push(`update ${String(offset)} has ${String(count)} events, the ledger sent ${String(events)}`);
    }
  }
  const active = await client.query<{ name: string }>(
    `select l.contract_id || '@' || s.synchronizer_id as name
       from ${schema}.lifetimes l join ${schema}.synchronizers s using (synchronizer_pk)
      where l.deactivated_offset is null`,
  );
  const names = active.rows.map(({ name }) => name).sort();
  found.push(...difference('active contract', activeSetAt(history, end), names));
  return found;
}

/** Lost, surplus and duplicated rows, as sentences. */
export function difference(what: string, expected: readonly string[], found: readonly string[]): string[] {
  const expectedSet = new Set(expected);
  const foundSet = new Set(found);
  const lost = expected.filter((one) => !foundSet.has(one));
  const extra = found.filter((one) => !expectedSet.has(one));
  const twice = found.length - foundSet.size;
  return [
    ...(lost.length > 0 ? [`${String(lost.length)} ${what}s lost, the first is ${lost[0] ?? ''}`] : []),
    ...(extra.length > 0 ? [`${String(extra.length)} ${what}s too many, the first is ${extra[0] ?? ''}`] : []),
    ...(twice > 0 ? [`${String(twice)} ${what}s stored twice`] : []),
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
export async function rowsThatDiffer(expected: ChaosDatabase, found: ChaosDatabase): Promise<RowDifference> {
  const total = { lost: 0, duplicated: 0, altered: 0, examples: [] as string[] };
  for (const table of await keyedTables(expected.client)) {
    const should = await rowsOf(expected.client, table);
    const is = await rowsOf(found.client, table);
    for (const [key, row] of should) {
      const other = is.get(key);
      if (other === row) continue;
      if (other === undefined) total.lost += 1;
      else total.altered += 1;
      if (total.examples.length < 8) {
        total.examples.push(
          `${table.table} ${key} ${other === undefined ? 'lost' : `is ${other} instead of ${row}`}`.slice(0, 1200),
        );
      }
    }
    for (const key of is.keys()) {
      if (should.has(key)) continue;
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
