/** Fills projections to the checkpoint, and compares views over them with rows computed from the history. */
import { expect } from 'vitest';
import { openDatabase, type Database } from '../../src/store/connection/database.ts';
import { fillNext, invalidate, removeOutdated } from '../../src/store/projections/fill.ts';
import { builtInProjections } from '../../src/store/projections/projections.ts';
import { projectionNames } from '../../src/model/stream.ts';
import { query } from '../support/database.ts';

export async function withDatabase<T>(url: string, work: (database: Database) => Promise<T>): Promise<T> {
  const database = openDatabase({ url, schema: 'ledger', statementTimeoutMs: 120_000, applicationName: 'test' });
  try {
    return await work(database);
  } finally {
    await database.close();
  }
}

/**
 * Fills all projections.
 * @param most maximum number of updates and of contracts in a range
 * @returns number of ranges
 */
export function fillAll(url: string, most: number): Promise<number> {
  return withDatabase(url, async (database) => {
    const projections = await builtInProjections('ledger');
    await invalidate(database, projections);
    let ranges = 0;
    for (const projection of projections) {
      while (await removeOutdated(database, projection, 1_000));
      while ((await fillNext(database, projection, most)) !== undefined) ranges += 1;
    }
    return ranges;
  });
}

/**
 * Compares each view with its rows computed from the history, in a session that ignores projections. A SELECT of a
 * projection may read views over other projections.
 * @returns for each view its number of rows, and the numbers of rows that only one side has
 */
export async function compare(url: string): Promise<Readonly<Record<string, unknown>>> {
  const computing = new URL(url);
  computing.searchParams.set('options', '-c ledger_indexer.projections=off');
  const results: Record<string, unknown> = {};
  for (const view of projectionNames) {
    const sql = `select to_jsonb(t)::text as line from explore.${view} t`;
    const stored = (await query(url, sql)).map(({ line }) => String(line));
    const computed = (await query(computing.href, sql)).map(({ line }) => String(line));
    results[view] = {
      rows: stored.length,
      extra: countWithout(stored, computed),
      missing: countWithout(computed, stored),
    };
  }
  return results;
}

const equal = { rows: expect.any(Number) as number, extra: 0, missing: 0 };

/** The result of `compare` if no row differs. */
export const allEqual = Object.fromEntries(projectionNames.map((name) => [name, equal]));

/** Number of lines that remain after each line of `removed` has removed one equal line. */
function countWithout(lines: readonly string[], removed: readonly string[]): number {
  const left = new Map<string, number>();
  for (const line of removed) left.set(line, (left.get(line) ?? 0) + 1);
  return lines.filter((line) => {
    const count = left.get(line) ?? 0;
    left.set(line, count - 1);
    return count <= 0;
  }).length;
}

/** Turns JIT off for later sessions. Compiling the SELECTs takes longer than these small histories take to read. */
export async function turnJitOff(url: string): Promise<void> {
  await query(url, `do $$ begin execute format('alter database %I set jit = off', current_database()); end $$`);
}

/** Makes blocks of sums so small that a short history has several of them. */
export async function useSmallBlocks(url: string, offsets: number): Promise<void> {
  await query(
    url,
    `create or replace function ledger.block_end(at_offset bigint) returns bigint language sql immutable strict parallel safe
       return (at_offset / ${String(offsets)} + 1) * ${String(offsets)} - 1`,
  );
}

/**
 * Number of projections that do not store all offsets up to the checkpoint, or whose stored offsets were changed since.
 * Sums are complete when the last complete block is stored.
 */
export async function uncoveredCount(url: string): Promise<number> {
  const [row] = await query(
    url,
    `select count(*)::int as count
       from (select p.covered - ledger.in_blocks(coalesce((select range_agg(offsets) from ledger.projection_changes), '{}'), p.is_summed) as stored,
                    case when p.is_summed then ledger.block_end(s.checkpoint + 1) - ledger.block_end(0) - 1 else s.checkpoint end as last
               from ledger.stream s cross join ledger.projections p
              union all select null, 0 where (select count(*) from ledger.projections) < ${String(projectionNames.length)}) p
      where p.stored is null or p.last >= 0 and not p.stored @> int8range(null, p.last, '(]')`,
  );
  return Number(row?.['count']);
}
