/** A SELECT of a user may read every view of the stream, except those whose rows depend on the time. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkTree } from '../../src/store/user-projections/check-tree.ts';
import { query, type TestDatabase } from '../support/database.ts';
import { createMigratedDatabase } from '../support/migrated-database.ts';
import { withDatabase } from './projected.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createMigratedDatabase();
});
afterAll(() => database.drop());

describe('checkTree()', () => {
  it('accepts all views of explore and pqs except those that depend on the time', async () => {
    const views = await query(
      database.url,
      `select format('%I.%I', schemaname, viewname) as name from pg_views
        where schemaname in ('explore', 'pqs', 'pqs_multisync') order by 1`,
    );
    const refused = await withDatabase(database.url, (pool) =>
      pool.transaction(async (client) => {
        const results: Record<string, string> = {};
        for (const { name } of views) {
          await client.query(
            `create or replace function public.tried() returns bigint begin atomic select count(*) from ${String(name)}; end`,
          );
          const { rows } = await client.query<{ oid: string }>(`select 'public.tried'::regproc::oid::text as oid`);
          const { problems } = await checkTree(client, 'ledger', rows[0]?.oid ?? '');
          if (problems.length > 0) results[String(name)] = problems.join('; ');
        }
        return results;
      }),
    );
    expect(views.length).toBeGreaterThan(40);
    expect(Object.keys(refused)).toEqual([
      'explore.party_labels',
      'explore.token_balances',
      'explore.token_balances_by_reason',
      'explore.token_holdings',
      'explore.token_locks',
      'explore.traffic_cost_outliers',
      'explore.traffic_cost_percentiles',
      'explore.traffic_runway',
    ]);
    for (const problem of Object.values(refused)) expect(problem).toMatch(/calls now\(\)/);
  });
});
