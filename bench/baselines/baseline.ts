/**
 * Baselines: tables in another layout for the same events. After a run of the indexer, the rows of such a layout are
 * staged in its database, read through the views of schema `explore`. The server writes them to binary files, one per
 * table and batch. A run of the baseline loads the files (`copy … from`) into the layout with all its indexes in place,
 * one transaction per batch. No client encodes or sends data, which favors the baseline.
 */
import { rmSync } from 'node:fs';
import { escapeIdentifier, escapeLiteral, type Client } from 'pg';
import { onExit, type CleanupStep } from '../cleanup.ts';
import { startCost, type Cost } from '../figures/cost.ts';
import { startWeighing, type Weight, type MeasureMoment } from '../figures/weight.ts';
import { withClient, type RunDatabase, type Server } from '../postgres.ts';
import type { ExpectedCounts } from '../replay/profiles.ts';
import type { Recording } from '../replay/recording.ts';

/** Number of updates in one transaction: that of the indexer's largest batch. */
export const updatesPerBatch = 1_000;

/** Schema of the staged rows. While rows are staged, it also contains the types of the baseline. */
export const stagedSchema = 'staged';

export interface BaselineTable {
  readonly name: string;
  /**
   * SQL that selects the rows of the table in a database of the indexer: `staged_at`, the offset of the update, then
   * the columns to load. Undefined if `prepare` creates `staged.<name>_rows`.
   */
  readonly rows: string | undefined;
}

/**
 * Final content of a layout, read from its own tables: the rows of the stream, and all active contracts. `contents` is
 * a hash over ids and complete payloads of the rows of the stream.
 */
export type BaselineCounts = Omit<ExpectedCounts, 'events'> & { readonly contents: string };

export interface Baseline {
  /** Name of the baseline in the report and, with underscores, of its schema. */
  readonly name: string;
  readonly schema: string;
  /** SQL that creates the types of the rows in the schema of the search path, before rows are staged. */
  readonly types: string;
  /**
   * SQL that creates tables, indexes and functions of the empty layout. Types and schema exist then, and are in the
   * search path.
   */
  readonly layout: string;
  /** Tables in the order in which a batch loads them. */
  readonly tables: readonly BaselineTable[];
  /** Stages rows that no view contains. */
  readonly prepare?: (client: Client, recording: Recording, frames: number) => Promise<void>;
  /** Runs after each batch has committed, in a separate transaction. */
  readonly publish?: (lastOffset: number) => string;
  /**
   * SQL that selects one row with counts and contents of the stream: from the views of the indexer, and from the
   * layout.
   */
  readonly countsBefore: string;
  readonly countsAfter: string;
  /** Adds contracts that exist before the stream begins. */
  readonly preload?: (client: Client, contracts: number) => Promise<void>;
}

export interface BaselineRows {
  readonly baseline: Baseline;
  /** In the order of offsets. */
  readonly batches: readonly Batch[];
  /** Counts in the indexer's own views. */
  readonly counts: BaselineCounts;
  readonly events: number;
  /** Removes the files if they are on this machine and were not removed yet. */
  readonly forget: CleanupStep;
}

interface Batch {
  readonly lastOffset: number;
  readonly files: readonly { readonly table: string; readonly columns: string; readonly path: string }[];
}

export interface StageRequest {
  readonly recording: Recording;
  readonly expected: ExpectedCounts;
}

/**
 * Writes the rows of a finished run to files in the data directory of the server, where the server can read them again.
 * @throws Error if the views of the indexer do not have the counts that follow from the recording
 */
export async function stageBaseline(
  baseline: Baseline,
  database: RunDatabase,
  { recording, expected }: StageRequest,
): Promise<BaselineRows> {
  const batches: Batch[] = [];
  const unregister = onExit(() => {
    for (const { path } of batches.flatMap(({ files }) => files)) rmSync(path, { force: true });
  });
  return withClient(database.url, async (client) => {
    // Times have one text form, so that the same rows have the same hash.
    await client.query(
      `drop schema if exists ${stagedSchema} cascade; create schema ${stagedSchema}; set timezone = 'UTC'`,
    );
    await client.query(`set search_path = ${stagedSchema}; set work_mem = '256MB'; ${baseline.types}`);
    await baseline.prepare?.(client, recording, expected.updates);
    for (const { name, rows } of baseline.tables) {
      if (rows !== undefined) await client.query(`create unlogged table ${name}_rows as ${rows}`);
      await client.query(`create index on ${name}_rows (staged_at)`);
    }
    await client.query('analyze');
    const counts = await countsOf(client, baseline.countsBefore);
    const difference = countDifference(counts, expected);
    if (difference !== undefined) throw new Error(`${baseline.name}, rows of the reference: ${difference}`);
    for (let last = 0; last < expected.updates;) {
      const from = last + 1;
      last = Math.min(last + updatesPerBatch, expected.updates);
      batches.push(await writeBatch(client, baseline, `${database.name}_${baseline.schema}`, { from, last }));
    }
    await client.query(`drop schema ${stagedSchema} cascade`);
    return { baseline, batches, counts, events: expected.events, forget: unregister };
  });
}

async function writeBatch(
  client: Client,
  { tables }: Baseline,
  prefix: string,
  { from, last }: { readonly from: number; readonly last: number },
): Promise<Batch> {
  const folder = (await client.query<{ data_directory: string }>('show data_directory')).rows[0]?.data_directory;
  const files: Batch['files'][number][] = [];
  for (const { name } of tables) {
    const columns = await stagedColumns(client, name);
    const path = `${folder ?? ''}/${prefix}_${name}_${String(from)}.copy`;
    const rows = `select ${columns} from ${name}_rows where staged_at between ${String(from)} and ${String(last)} order by staged_at`;
    const { rowCount } = await client.query(`copy (${rows}) to ${escapeLiteral(path)} (format binary)`);
    if ((rowCount ?? 0) > 0) files.push({ table: name, columns, path });
  }
  return { lastOffset: last, files };
}

async function stagedColumns(client: Client, name: string): Promise<string> {
  const { rows } = await client.query<{ attname: string }>(
    `select attname::text from pg_attribute
      where attrelid = $1::regclass and attnum > 0 and not attisdropped and attname <> 'staged_at' order by attnum`,
    [`${name}_rows`],
  );
  return rows.map(({ attname }) => escapeIdentifier(attname)).join(', ');
}

export interface BaselineRun extends Cost {
  readonly weight: Weight;
  readonly error: string | undefined;
}

/** Creates an empty layout, or one with contracts from before the stream. */
export async function baselineDatabase(server: Server, baseline: Baseline, contracts = 0): Promise<RunDatabase> {
  const database = await server.createDatabase();
  await withClient(database.url, async (client) => {
    await client.query(`create schema ${baseline.schema}; set search_path = ${baseline.schema}`);
    await client.query(`${baseline.types}${baseline.layout}`);
    if (contracts === 0) return;
    await client.query(`set maintenance_work_mem = '1GB'; set work_mem = '256MB'`);
    await baseline.preload?.(client, contracts);
    await client.query('vacuum (analyze)');
    await client.query('checkpoint');
  });
  return database;
}

/** Loads the rows once, into an empty layout or into a copy of `template`. */
export async function runBaseline(
  server: Server,
  rows: BaselineRows,
  measureMoment: MeasureMoment,
  template?: RunDatabase,
): Promise<BaselineRun> {
  const { baseline } = rows;
  const database =
    template === undefined ? await baselineDatabase(server, baseline) : await server.createDatabase(template);
  try {
    const finishWeighing = await startWeighing({
      server,
      url: database.url,
      schema: baseline.schema,
      when: measureMoment,
    });
    const cost = startCost({ server });
    await withClient(database.url, (client) => load(client, rows));
    const run = cost();
    const weight = await finishWeighing();
    const error = await withClient(database.url, async (client) => {
      await client.query(`set timezone = 'UTC'; set search_path = ${baseline.schema}`);
      return countDifference(await countsOf(client, baseline.countsAfter), rows.counts);
    });
    return { ...run, weight, error };
  } finally {
    await database.drop();
  }
}

/**
 * Forces index lookups regardless of the statistics of a new table, as the indexer's own sessions do. A plan that reads
 * all contracts for each batch would measure the planner, not the layout.
 */
const settings = 'set enable_seqscan = off; set enable_hashjoin = off; set enable_mergejoin = off; set jit = off';

async function load(client: Client, { baseline, batches }: BaselineRows): Promise<void> {
  await client.query(`set search_path = ${baseline.schema}; ${settings}`);
  for (const { lastOffset, files } of batches) {
    const copies = files.map(
      ({ table, columns, path }) => `copy ${table} (${columns}) from ${escapeLiteral(path)} (format binary)`,
    );
    await client.query(['begin', ...copies, 'commit'].join('; '));
    if (baseline.publish !== undefined) await client.query(baseline.publish(lastOffset));
  }
}

async function countsOf(client: Client, sql: string): Promise<BaselineCounts> {
  const [row] = (await client.query<Record<keyof BaselineCounts, string>>(sql)).rows;
  return {
    updates: Number(row?.updates),
    contracts: Number(row?.contracts),
    exercises: Number(row?.exercises),
    active: Number(row?.active),
    contents: row?.contents ?? '',
  };
}

/** Describes the differences; undefined if there are none. Missing fields are not compared. */
function countDifference(actual: BaselineCounts, expected: Partial<BaselineCounts>): string | undefined {
  const names = ['updates', 'contracts', 'exercises', 'active', 'contents'] as const;
  const wrongCounts = names.filter((name) => expected[name] !== undefined && actual[name] !== expected[name]);
  if (wrongCounts.length === 0) return undefined;
  return wrongCounts
    .map((name) => `${name}: found ${String(actual[name])}, expected ${String(expected[name])}`)
    .join('; ');
}
