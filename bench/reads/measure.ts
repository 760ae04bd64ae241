/** Measures one query: the server's time with EXPLAIN ANALYZE, and the time until a client has received all rows. */
import type { Client } from 'pg';
import type { ReadQuery } from './queries.ts';

/** Milliseconds, over all rounds. */
export interface Spread {
  readonly p50: number;
  readonly p95: number;
  readonly max: number;
}

export interface ReadFigure {
  readonly query: ReadQuery;
  readonly rows: number;
  readonly planning: Spread;
  /** Time of planning and executing the query, without converting rows to text and sending them. */
  readonly server: Spread;
  /** Time from sending the query until all rows are received in this process. */
  readonly client: Spread;
  /** Number of pages of 8 KiB that one call reads, from the cache of Postgres or not. */
  readonly buffers: number;
  readonly plan: string;
}

interface Explained {
  readonly Plan: { readonly 'Shared Hit Blocks'?: number; readonly 'Shared Read Blocks'?: number };
  readonly 'Planning Time': number;
  readonly 'Execution Time': number;
}

/** @throws Error of the server if it rejects the query; Error if the number of rows is wrong */
export async function measured(
  client: Client,
  query: ReadQuery,
  { rounds, warmUp }: { readonly rounds: number; readonly warmUp: number },
): Promise<ReadFigure> {
  const rows = (await client.query(query.text, [...query.values(0)])).rowCount ?? 0;
  if (rows !== query.rows) throw new Error(`${String(rows)} rows, expected ${String(query.rows)}`);
  const planning: number[] = [];
  const server: number[] = [];
  const waits: number[] = [];
  for (let round = -warmUp; round < rounds; round += 1) {
    const values = [...query.values(round + warmUp)];
    const begun = performance.now();
    await client.query(query.text, values);
    const waited = performance.now() - begun;
    const explained = await explain(client, query.text, values);
    if (round < 0) continue;
    waits.push(waited);
    planning.push(explained['Planning Time']);
    server.push(explained['Planning Time'] + explained['Execution Time']);
  }
  const { buffers, plan } = await touched(client, query);
  return { query, rows, planning: spread(planning), server: spread(server), client: spread(waits), buffers, plan };
}

/** Rows are not timed individually, because that would cost more than many of the rows. */
async function explain(client: Client, text: string, values: unknown[]): Promise<Explained> {
  const { rows } = await client.query<{ 'QUERY PLAN': readonly [Explained] }>(
    `explain (analyze, timing off, format json) ${text}`,
    values,
  );
  const found = rows[0]?.['QUERY PLAN'][0];
  if (found === undefined) throw new Error('EXPLAIN returned nothing');
  return found;
}

async function touched(client: Client, query: ReadQuery): Promise<{ readonly buffers: number; readonly plan: string }> {
  const values = [...query.values(0)];
  const asJson = await client.query<{ 'QUERY PLAN': readonly [Explained] }>(
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

function spread(times: readonly number[]): Spread {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.ceil(sorted.length * share) - 1] ?? Number.NaN;
  return { p50: at(0.5), p95: at(0.95), max: at(1) };
}
