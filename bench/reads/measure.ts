/** Measures one query: the server's time with EXPLAIN ANALYZE, and the time until a client has received all rows. */
import type { Client } from 'pg';
import type { ReadQuery } from './queries.ts';

/** Milliseconds, over all rounds. */
export interface LatencySpread {
  readonly p50: number;
  readonly p95: number;
  readonly max: number;
}

export interface ReadFigure {
  readonly query: ReadQuery;
  readonly rows: number;
  readonly planning: LatencySpread;
  /** Time of planning and executing the query, without converting rows to text and sending them. */
  readonly server: LatencySpread;
  /** Time from sending the query until all rows are received in this process. */
  readonly client: LatencySpread;
  /** Number of pages of 8 KiB that one call reads, from the cache of Postgres or not. */
  readonly buffers: number;
  readonly plan: string;
}

interface ExplainOutput {
  readonly Plan: { readonly 'Shared Hit Blocks'?: number; readonly 'Shared Read Blocks'?: number };
  readonly 'Planning Time': number;
  readonly 'Execution Time': number;
}

/** @throws Error of the server if it rejects the query; Error if the number of rows is wrong */
export async function measureQuery(
  client: Client,
  query: ReadQuery,
  { rounds, warmUp }: { readonly rounds: number; readonly warmUp: number },
): Promise<ReadFigure> {
  const rows = (await client.query(query.text, [...query.values(0)])).rowCount ?? 0;
  if (rows !== query.rows) throw new Error(`${String(rows)} rows, expected ${String(query.rows)}`);
  const planning: number[] = [];
  const server: number[] = [];
  const serverTimes: number[] = [];
  for (let round = -warmUp; round < rounds; round += 1) {
    const values = [...query.values(round + warmUp)];
    const startMs = performance.now();
    await client.query(query.text, values);
    const elapsedMs = performance.now() - startMs;
    const queryPlan = await explain(client, query.text, values);
    if (round < 0) continue;
    serverTimes.push(elapsedMs);
    planning.push(queryPlan['Planning Time']);
    server.push(queryPlan['Planning Time'] + queryPlan['Execution Time']);
  }
  const { buffers, plan } = await touchedPages(client, query);
  return {
    query,
    rows,
    planning: spreadOf(planning),
    server: spreadOf(server),
    client: spreadOf(serverTimes),
    buffers,
    plan,
  };
}

/** Rows are not timed individually, because that would cost more than many of the rows. */
async function explain(client: Client, text: string, values: unknown[]): Promise<ExplainOutput> {
  const { rows } = await client.query<{ 'QUERY PLAN': readonly [ExplainOutput] }>(
    `explain (analyze, timing off, format json) ${text}`,
    values,
  );
  const planRow = rows[0]?.['QUERY PLAN'][0];
  if (planRow === undefined) throw new Error('EXPLAIN returned nothing');
  return planRow;
}

async function touchedPages(
  client: Client,
  query: ReadQuery,
): Promise<{ readonly buffers: number; readonly plan: string }> {
  const values = [...query.values(0)];
  const asJson = await client.query<{ 'QUERY PLAN': readonly [ExplainOutput] }>(
    `explain (analyze, buffers, format json) ${query.text}`,
    values,
  );
  const root = asJson.rows[0]?.['QUERY PLAN'][0].Plan;
  const asText = await client.query<{ 'QUERY PLAN': string }>(`explain (analyze, buffers) ${query.text}`, values);
  return {
    buffers: (root?.['Shared Hit Blocks'] ?? 0) + (root?.['Shared Read Blocks'] ?? 0),
    plan: asText.rows.map((row) => row['QUERY PLAN']).join('\n'),
  };
}

function spreadOf(times: readonly number[]): LatencySpread {
  const sortedTimes = times.toSorted((a, b) => a - b);
  const percentile = (share: number): number => sortedTimes[Math.ceil(sortedTimes.length * share) - 1] ?? Number.NaN;
  return { p50: percentile(0.5), p95: percentile(0.95), max: percentile(1) };
}
