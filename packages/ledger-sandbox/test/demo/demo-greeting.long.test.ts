/** Runs the three queries of the startup banner unchanged on a running demo, and the queries of dashboards. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { formatBanner } from '../../../../src/cli/demo/banner.ts';
import { startDemoLedger, type DemoLedger } from '../../src/demo/demo-ledger.ts';
import { demoInterfaces } from '../../src/demo/templates/names.ts';
import { runIndexer, type IndexerRun } from '../../../../test/e2e/runs/indexer-run.ts';
import { createTestDatabase, query, type TestDatabase } from '../../../../test/support/database.ts';
import { waitFor } from '../../../../test/support/wait-for.ts';

let ledger: DemoLedger;
let database: TestDatabase;
let indexer: IndexerRun;
let queries: readonly string[];

beforeAll(async () => {
  ledger = await startDemoLedger({ seed: 1, updatesPerSecond: 50 });
  database = await createTestDatabase();
  indexer = await runIndexer({
    LEDGER_URL: ledger.url,
    DATABASE_URL: database.url,
    INDEXER_START: 'genesis',
    LEDGER_INTERFACES: demoInterfaces.join(','),
  });
  await indexer.reaches(ledger.ledgerEnd(), 180_000);
  const view = `select from pg_views where schemaname = 'typed' and viewname = 'token_holding_v1__holding'`;
  await waitFor(
    'the typed views',
    async () => ((await query(database.url, view)).length > 0 ? true : undefined),
    180_000,
  );
  const addresses = { ledgerUrl: ledger.url, databaseUrl: database.url, embeddedLedger: true, embeddedDatabase: true };
  const text = formatBanner(addresses, indexer.httpUrl, 'ledger');
  // The banner prints a query over several lines, up to its semicolon.
  queries = [...text.matchAll(/^ {4}(select [^;]*;)$/gm)].map(([, sql = '']) => sql);
  expect(queries).toHaveLength(3);
}, 240_000);

afterAll(async () => {
  await indexer[Symbol.asyncDispose]();
  await ledger.close();
  await database.drop();
});

const rows = (sql: string): Promise<readonly Record<string, unknown>[]> => query(database.url, sql);

describe('a query of the startup banner', () => {
  it('returns the totals of each instrument', async () => {
    const resultRows = await rows(queries[0] ?? '');
    expect(new Set(resultRows.map(({ instrument }) => instrument))).toEqual(
      new Set(['Amulet', 'EURX', 'TWGBP', 'TWUSD', 'XS2931000017']),
    );
    for (const row of resultRows) {
      expect(Number(row['owners'])).toBeGreaterThan(20);
      expect(Number(row['total'])).toBeGreaterThan(1_000);
      expect(Number(row['locked'])).toBeLessThan(Number(row['total']));
    }
  });

  it('returns the settlements between users', async () => {
    const resultRows = await rows(queries[1] ?? '');
    expect(resultRows.length).toBeGreaterThan(10);
    for (const { sender, receiver, amount } of resultRows) {
      expect(sender).not.toBe(receiver);
      expect(Number(amount)).toBeGreaterThan(0);
    }
  });

  it('returns the freshness of the rows, which is never in the future', async () => {
    const recentUpdates = async () => Number((await rows(queries[2] ?? ''))[0]?.['updates']);
    await waitFor('live updates', async () => ((await recentUpdates()) > 100 ? true : undefined), 180_000);
    const [aheadRow] = await rows('select count(*)::int as count from explore.updates where record_time > indexed_at');
    expect(aheadRow).toEqual({ count: 0 });
  });
});

describe('queries that users run', () => {
  const licensing = 'quickstart-licensing:Licensing.License';
  const allocations = 'splice-api-token-allocation-v1:Splice.Api.Token.AllocationV1:Allocation';

  it('find licenses with their renewals and the allocations that pay for them', async () => {
    const sql = `select count(*)::int as licenses, count(renewal.contract_id)::int as renewals, count(allocation.contract_id)::int as paid
      from pqs.active('${licensing}:License') license
      left join pqs.active('${licensing}:LicenseRenewalRequest') renewal
        on license.payload->>'licenseNum' = renewal.payload->>'licenseNum' and license.payload->>'user' = renewal.payload->>'user'
      left join pqs.active('${allocations}') allocation
        on renewal.payload->>'requestId' = allocation.payload->'allocation'->'settlement'->'settlementRef'->>'id'`;
    const renewal = await waitFor(
      'a renewal that is paid',
      async () => {
        const [row] = await rows(sql);
        return Number(row?.['paid']) > 0 ? row : undefined;
      },
      180_000,
    );
    expect(Number(renewal['licenses'])).toBeGreaterThanOrEqual(40);
    expect(Number(renewal['renewals'])).toBeGreaterThanOrEqual(Number(renewal['paid']));
  }, 240_000);

  it('find locked and free balances', async () => {
    const sql = `select payload->'instrumentId'->>'id' as id,
        sum(case when jsonb_typeof(payload->'lock') = 'null' then (payload->>'amount')::decimal else 0 end) as free,
        sum(case when jsonb_typeof(payload->'lock') = 'null' then 0 else (payload->>'amount')::decimal end) as locked
      from pqs.active('splice-api-token-holding-v1:Splice.Api.Token.HoldingV1:Holding') group by 1`;
    // At any moment an instrument may have no locked holdings.
    await waitFor(
      'each instrument with an amount that is locked and one that is free',
      async () => {
        const resultRows = await rows(sql);
        return resultRows.length === 5 &&
          resultRows.every(({ free, locked: lockedSum }) => Number(free) > 0 && Number(lockedSum) > 0)
          ? true
          : undefined;
      },
      180_000,
    );
  }, 240_000);
});
