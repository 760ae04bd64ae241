/** Fills projections to the checkpoint, and compares views over them with their SELECT over the complete history. */
import { openDatabase, type Database } from '../../src/store/connection/database.ts';
import { fillNext, invalidate } from '../../src/store/projections/fill.ts';
import { builtInProjections } from '../../src/store/projections/projections.ts';
import { query } from '../support/database.ts';

/** The rows of each view, computed from the history alone. */
const selects = {
  token_changes: 'explore.token_changes_of(null)',
  token_transfers: 'explore.token_transfers_between(null, null)',
} as const;

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
      while ((await fillNext(database, projection, most)) !== undefined) ranges += 1;
    }
    return ranges;
  });
}

/** Rows that only the view, or only its SELECT, returns, and the number of rows of the view. */
export async function compare(url: string, setup = ''): Promise<Readonly<Record<string, unknown>>> {
  const results: Record<string, unknown> = {};
  for (const [view, select] of Object.entries(selects)) {
    const rows = await query(
      url,
      `${setup}
       select (select count(*)::int from explore.${view}) as rows,
              (select count(*)::int from (table explore.${view} except all select * from ${select}) d) as extra,
              (select count(*)::int from (select * from ${select} except all table explore.${view}) d) as missing`,
    );
    results[view] = rows[0];
  }
  return results;
}

/** Turns JIT off for later sessions. Compiling the SELECTs takes longer than these small histories take to read. */
export async function turnJitOff(url: string): Promise<void> {
  await query(url, `do $$ begin execute format('alter database %I set jit = off', current_database()); end $$`);
}
