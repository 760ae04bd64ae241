/** Extends the filter of a running indexer with the command that operators use. */
import { query } from '../support/database.ts';
import { waitFor } from '../support/wait-for.ts';
import type { HistoryWorld } from './history-run.ts';

export type Filter = Readonly<Record<string, string>>;

/**
 * Requests the filter and waits for the end of the extension. Resolves to the offset from which the filter is complete.
 */
export async function extendFilter(world: HistoryWorld, filter: Filter, schema = 'ledger'): Promise<number> {
  await world.command('filter extend --yes', schema, filter);
  return waitUntilExtended(world, schema);
}

export async function waitUntilExtended(world: HistoryWorld, schema = 'ledger', limitMs = 40_000): Promise<number> {
  return waitFor(
    'the filter is extended',
    async () => {
      const job = await world.row(`select state, problem from ${schema}.jobs where name = 'filter-extend'`);
      if (job['state'] === 'failed') throw new Error(`failed: ${String(job['problem'])}`);
      if (job['state'] !== 'done') return undefined;
      const range = await world.row(
        `select max(from_offset)::int as at from ${schema}.coverage where origin = 'filter-extend'`,
      );
      return Number(range['at']);
    },
    limitMs,
  );
}

/** Waits until the earlier history is also stored. */
export async function waitForHistory(url: string, schema = 'ledger', limitMs = 60_000): Promise<void> {
  await waitFor(
    'the history is there',
    async () => {
      const jobs = await query(url, `select name, state, problem from ${schema}.jobs`);
      const failedJob = jobs.find(({ state }) => state === 'failed');
      if (failedJob !== undefined)
        throw new Error(`${String(failedJob['name'])} failed: ${String(failedJob['problem'])}`);
      return jobs.some(({ name, state }) => name === 'history' && state === 'done') ? true : undefined;
    },
    limitMs,
  );
}

/** Waits until a background job has closed its connections, so that it writes no more. */
export async function waitUntilClosed(url: string, job: 'filter-extend' | 'history'): Promise<void> {
  await waitFor(`${job} rests`, async () => {
    const [row] = await query(
      url,
      `select count(*)::int as sessions from pg_stat_activity
        where datname = current_database() and application_name like 'ledger-indexer ${job}%'`,
    );
    return row?.['sessions'] === 0 ? true : undefined;
  });
}
